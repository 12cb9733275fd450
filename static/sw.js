// The service worker keeps one page, the one for when nothing answers, and what was shared until it is sent.
// Pictures and pages of the library are never kept here.
const SHELL = "vitrine-shell", OFFLINE = "/offline", SHARED = "vitrine-shared", SHARE = "/uploads/shared";

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

// Files from the share sheet come once. They are laid down first, so that neither the sign-in page nor a dead
// connection loses them, and sent by the page that opens next (upload.js).
const lay = async (files) => {
  const cache = await caches.open(SHARED), laid = [];
  try {
    for (const file of files) {
      const key = `/shared/${Date.now()}-${crypto.randomUUID()}`;
      laid.push(key);
      await cache.put(key, new Response(file, { headers: {
        "Content-Type": file.type || "application/octet-stream", "X-Name": encodeURIComponent(file.name), "X-Modified": String(file.lastModified),
      } }));
    }
  } catch (error) {
    // No room on the device for some: none of them may come twice.
    for (const key of laid) await cache.delete(key);
    throw error;
  }
};
const share = async (request) => {
  const form = await request.formData(), files = form.getAll("files").filter((each) => each instanceof File && each.name);
  try {
    if (files.length) {
      await lay(files);
      return Response.redirect("/upload?shared=1", 303);
    }
  } catch { /* no room to keep them: straight to the server, which says what it took */ }
  return fetch(SHARE, { method: "POST", body: form, redirect: "manual" });
};
// Whoever may not send must not leave files behind for the next who may.
const visit = async (request) => {
  const answer = await fetch(request);
  if (answer.status === 403 && new URL(request.url).searchParams.has("shared")) await caches.delete(SHARED);
  return answer;
};
const kept = async (asked, error) => {
  const found = await (await caches.open(SHELL)).match(asked);
  if (found) return found;
  throw error;
};

addEventListener("install", (event) => { skipWaiting(); event.waitUntil(keep()); });
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const { request } = event, { pathname } = new URL(request.url), page = request.mode === "navigate";
  if (page && request.method === "POST" && pathname === SHARE) {
    event.respondWith(share(request).catch((error) => kept(OFFLINE, error)));
  } else if ((page && request.method === "GET") || pathname.startsWith("/static/")) {
    event.respondWith((page ? visit(request) : fetch(request)).catch((error) => kept(page ? OFFLINE : request, error)));
  }
});
