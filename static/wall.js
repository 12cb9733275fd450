// The wall: pages of rows that come and go as one scrolls.
const Wall = (() => {
  const wall = document.getElementById("wall");
  if (!wall) return null;
  const NEAR = 1500, FAR = 5000, MOST = 300;

  // ---- what is on screen
  const under = () => document.querySelector(".top")?.getBoundingClientRect().bottom ?? 0;
  const topTile = () => {
    const edge = under();
    for (const chunk of document.querySelectorAll(".chunk:not([data-empty])")) {
      if (chunk.getBoundingClientRect().bottom <= edge) continue;
      for (const row of chunk.querySelectorAll(".row")) {
        if (row.getBoundingClientRect().bottom > edge + 8) return row.querySelector("a");
      }
    }
    return null;
  };

  // ---- heights: known exactly before a chunk is built, from its rows' slope, its gaps and its headings
  const pixels = (value) => parseFloat(value) || 0;
  const measure = () => {
    const style = getComputedStyle(document.documentElement), rem = pixels(style.fontSize);
    const length = (name) => pixels(style.getPropertyValue(name)) * (style.getPropertyValue(name).includes("rem") ? rem : 1);
    return { width: wall.getBoundingClientRect().width, gap: length("--tile-gap"),
      head: length("--s6") + length("--s3") + length("--l5") };
  };
  let now = measure();
  const height = (chunk) => {
    const [slope, gaps, heads] = chunk.dataset.rise.split(" ").map(Number);
    return slope * now.width + gaps * now.gap + heads * now.head;
  };
  const size = (chunk) => {
    chunk.style.containIntrinsicBlockSize = `auto ${height(chunk).toFixed(2)}px`;
    chunk.style.blockSize = chunk.dataset.empty === undefined ? "" : `${height(chunk).toFixed(2)}px`;
  };
  new ResizeObserver(() => {
    const next = measure();
    if (Math.abs(next.width - now.width) < 0.5 && next.gap === now.gap) return;
    now = next;
    document.querySelectorAll(".chunk").forEach(size);
  }).observe(wall);

  // ---- loading
  const get = async (url) => {
    const answer = await fetch(url, { headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
    const away = answer.headers.get("HX-Redirect");
    if (away) location.href = away;
    if (!answer.ok || away) throw new Error(`${url}: ${answer.status}`);
    const holder = document.createElement("template");
    holder.innerHTML = await answer.text();
    return holder.content;
  };
  // What is on screen stays where it is. By hand, since engines anchor differently or not at all.
  const steady = (change) => {
    const fixed = topTile(), before = fixed?.getBoundingClientRect().top;
    change();
    const moved = fixed?.isConnected ? fixed.getBoundingClientRect().top - before : 0;
    if (moved) scrollBy({ top: moved, behavior: "instant" });
  };
  const load = async (link) => {
    if (link.dataset.busy) return;
    link.dataset.busy = "1";
    try {
      const found = await get(link.querySelector("a").dataset.from);
      found.querySelectorAll(".chunk").forEach(size);
      const added = [...found.children];
      steady(() => link.replaceWith(found));
      added.forEach(watch);
      limit(link.dataset.way === "after" ? "before" : "after");
    } catch {
      delete link.dataset.busy;
      link.classList.add("broken");
    }
  };
  const fill = async (chunk) => {
    if (chunk.dataset.empty === undefined || chunk.dataset.busy) return;
    chunk.dataset.busy = "1";
    try {
      const found = await get(chunk.dataset.url);
      found.querySelectorAll(".chunk").forEach(size);
      const added = [...found.children];
      if (added.length) steady(() => chunk.replaceWith(found));
      added.forEach(watch);
    } catch { delete chunk.dataset.busy; }
  };
  // Letting go means dropping the nodes: kept aside they would pile up by the hundred thousand.
  const empty = (chunk) => {
    if (chunk.dataset.empty !== undefined || chunk.contains(document.activeElement)) return;
    chunk.dataset.empty = "";
    chunk.style.blockSize = `${chunk.getBoundingClientRect().height}px`;
    chunk.replaceChildren();
  };
  const pager = (way, place) => {
    const made = document.createElement("nav"), link = document.createElement("a");
    made.className = "pager";
    made.dataset.way = way;
    link.className = "btn";
    link.textContent = way === "after" ? "Newer" : "Older";
    link.href = `/?${way}=${place}`;
    link.dataset.from = `/items?${way}=${place}`;
    made.append(link);
    return made;
  };
  // Browsers cap the height of a document: the far end becomes one link again.
  const limit = (way) => {
    const all = [...wall.querySelectorAll(".chunk")];
    if (all.length <= MOST) return;
    const kept = way === "after" ? all[1] : all[all.length - 2];
    const place = new URLSearchParams(kept.dataset.url.split("?")[1]).get(way === "after" ? "from" : "to");
    const made = pager(way, place);
    steady(() => {
      const beyond = way === "after" ? "previousElementSibling" : "nextElementSibling";
      while (kept[beyond]) kept[beyond].remove();
      if (way === "after") kept.before(made); else kept.after(made);
    });
    watch(made);
  };

  const pagers = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) load(one.target);
  }, { rootMargin: `${NEAR}px 0px` });
  const chunks = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) fill(one.target); else empty(one.target);
  }, { rootMargin: `${FAR}px 0px` });
  const watch = (part) => {
    if (part.matches(".pager")) pagers.observe(part);
    if (part.matches(".chunk")) { size(part); chunks.observe(part); }
  };
  // What did not arrive is asked for again with the next beat, while it is still wanted.
  document.body.addEventListener("beat", () => {
    for (const part of document.querySelectorAll(".pager.broken, .chunk[data-empty]")) {
      part.classList.remove("broken");
      pagers.unobserve(part);
      chunks.unobserve(part);
      watch(part);
    }
  });
  const begin = () => document.querySelectorAll("#wall > *").forEach(watch);

  // ---- while the first page still fills: never under a hand that has begun to scroll or to walk
  document.body.addEventListener("htmx:before:request", (event) => {
    if (event.target.id === "wall" && (scrollY > 40 || event.target.contains(document.activeElement))) event.preventDefault();
  });
  document.body.addEventListener("htmx:after:swap", () => { now = measure(); begin(); });
  begin();
  return { topTile, under };
})();
