// The service worker keeps one page: the one for when nothing answers. Pictures and pages are never kept here.
const SHELL = "vitrine-shell", OFFLINE = "/offline";

const keep = async () => {
  const cache = await caches.open(SHELL);
  const page = await fetch(OFFLINE, { cache: "no-cache", credentials: "omit" });
  if (!page.ok) return;
  const text = await page.clone().text();
  // What the page names is kept with it; addresses change with the content, so old ones can go.
  const parts = [...new Set(text.match(/\/static\/[^"#?]+/g) || [])];
  const known = new Set([OFFLINE, ...parts].map((each) => new URL(each, location).href));
  for (const old of await cache.keys()) if (!known.has(old.url)) await cache.delete(old);
  await cache.put(OFFLINE, page);
  await cache.addAll(parts);
};

addEventListener("install", (event) => { skipWaiting(); event.waitUntil(keep()); });
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const { request } = event;
  const shell = request.mode === "navigate" && request.method === "GET";
  if (!shell && !new URL(request.url).pathname.startsWith("/static/")) return;
  event.respondWith(fetch(request).catch(async (error) => {
    const kept = await caches.match(shell ? OFFLINE : request);
    if (kept) return kept;
    throw error;
  }));
});
