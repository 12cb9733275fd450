// The wall: pages of rows that come and go as one scrolls.
const Wall = (() => {
  const wall = document.getElementById("wall");
  if (!wall) return null;
  const NEAR = 900, FAR = 1100, MOST = 300, KEPT_MS = 60_000;
  const query = wall.dataset.q ?? "";

  // Every address of this page says the query and a place in its order.
  const address = (path, place) => {
    const said = new URLSearchParams(query ? { q: query, ...place } : place).toString();
    return said ? `${path}?${said}` : path;
  };
  const told = () => document.body.dispatchEvent(new CustomEvent("wall:changed"));

  // ---- what is on screen
  const under = () => document.querySelector(".top")?.getBoundingClientRect().bottom ?? 0;
  const topTile = () => {
    const edge = under();
    for (const chunk of wall.querySelectorAll(".chunk:not([data-empty])")) {
      if (chunk.getBoundingClientRect().bottom <= edge) continue;
      for (const row of chunk.querySelectorAll(".row")) {
        if (row.getBoundingClientRect().bottom > edge + 8) return row.querySelector("a");
      }
    }
    return null;
  };
  const visible = (tile) => {
    const box = tile.getBoundingClientRect();
    return box.bottom > under() && box.top < innerHeight && box.height > 0;
  };
  const tiles = () => [...wall.querySelectorAll(".tile > a")];

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
    wall.querySelectorAll(".chunk").forEach(size);
  }).observe(wall);

  // ---- loading
  let changedAt = -KEPT_MS;
  const get = async (url) => {
    // What the browser kept may still hold what was just thrown away.
    const cache = performance.now() - changedAt < KEPT_MS ? "no-cache" : "default";
    const answer = await fetch(url, { cache, headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
    const away = answer.headers.get("HX-Redirect");
    if (away) location.href = away;
    if (!answer.ok || away) throw new Error(`${url}: ${answer.status}`);
    const holder = document.createElement("template");
    holder.innerHTML = await answer.text();
    holder.content.querySelectorAll(".chunk").forEach(size);
    return holder.content;
  };
  // What is on screen stays where it is. By hand, since engines anchor differently or not at all; and by name,
  // since the same picture may come back as another element.
  const steady = (change) => {
    const first = topTile(), seen = first ? tiles().filter(visible).map((t) => [t.id, t.getBoundingClientRect().top]) : [];
    if (first) seen.unshift([first.id, first.getBoundingClientRect().top]);
    change();
    for (const [id, top] of seen) {
      const tile = document.getElementById(id);
      if (!tile) continue;
      const moved = tile.getBoundingClientRect().top - top;
      if (moved) scrollBy({ top: moved, behavior: "instant" });
      return;
    }
  };
  const running = new WeakMap();
  const once = (part, work) => {
    if (!running.has(part)) running.set(part, work().finally(() => running.delete(part)));
    return running.get(part);
  };
  const hang = (part, found) => {
    const added = [...found.children];
    steady(() => part.replaceWith(found));
    added.forEach(watch);
    told();
  };
  const load = (link) => once(link, async () => {
    try {
      hang(link, await get(link.querySelector("a").dataset.from));
      limit(link.dataset.way === "after" ? "before" : "after");
    } catch { link.classList.add("broken"); }
  });
  const fill = (chunk) => once(chunk, async () => {
    if (chunk.dataset.empty === undefined) return;
    try { hang(chunk, await get(chunk.dataset.url)); } catch { /* the next beat asks again */ }
  });
  // Letting go means dropping the nodes: kept aside they would pile up by the hundred thousand.
  const held = new Map();
  // Whoever walks from picture to picture far from the screen keeps what was loaded for it a while.
  const WALK_MS = 2000, spared = new Set();
  let walkedAt = -WALK_MS, release = 0;
  const walk = () => {
    walkedAt = performance.now();
    clearTimeout(release);
    release = setTimeout(() => {
      for (const chunk of spared) if (chunk.isConnected) { chunks.unobserve(chunk); chunks.observe(chunk); }
      spared.clear();
    }, WALK_MS + 50);
  };
  const empty = (chunk) => {
    if (chunk.dataset.empty !== undefined || chunk.contains(document.activeElement)) return;
    if (performance.now() - walkedAt < WALK_MS) { spared.add(chunk); return; }
    for (const tile of chunk.querySelectorAll(".tile > a")) held.set(tile.id, chunk);
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
    link.href = address("/", { [way]: place });
    link.dataset.from = address("/items", { [way]: place });
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
    for (const [id, chunk] of held) if (!chunk.isConnected) held.delete(id);
    watch(made);
  };

  const pagers = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) load(one.target);
  }, { rootMargin: `${NEAR}px 0px` });
  const chunks = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) fill(one.target); else empty(one.target);
  }, { rootMargin: `${FAR}px 0px` });
  const known = new WeakSet();
  const watch = (part) => {
    known.add(part);
    if (part.matches(".pager")) pagers.observe(part);
    if (part.matches(".chunk")) { size(part); chunks.observe(part); }
  };
  // What did not arrive is asked for again with the next beat, while it is still wanted.
  document.body.addEventListener("beat", () => {
    for (const part of wall.querySelectorAll(".pager.broken, .chunk[data-empty]")) {
      part.classList.remove("broken");
      pagers.unobserve(part);
      chunks.unobserve(part);
      watch(part);
    }
  });
  let hung = -1;
  const begin = () => {
    const fresh = [...wall.children].filter((part) => !known.has(part)), many = tiles().length;
    fresh.forEach(watch);
    wall.querySelectorAll(".chunk").forEach(size);
    // Other parts of the page are swapped as well, and change nothing here.
    if (fresh.length || many !== hung) told();
    hung = many;
  };

  // ---- for the viewer and the keys: the pictures as one list, whatever is loaded
  const find = async (id) => {
    const tile = document.getElementById(id);
    if (tile) return tile;
    if (held.get(id)?.isConnected) await fill(held.get(id));
    return document.getElementById(id);
  };
  // The picture before (-1) or after (1) another one, loading what lies between; null at the ends.
  const beside = async (id, step) => {
    const way = step > 0 ? "nextElementSibling" : "previousElementSibling";
    for (let tries = 0; tries < 4; tries++) {
      walk();
      const tile = await find(id), chunk = tile?.closest(".chunk");
      if (!chunk) return null;
      const all = tiles(), next = all[all.indexOf(tile) + step];
      if (next?.closest(".chunk") === chunk) return next;
      const part = chunk[way];
      if (!part) return null;
      if (part.matches(".chunk:not([data-empty])")) return next ?? null;
      await (part.matches(".pager") ? load(part) : fill(part));
    }
    return null;
  };
  // Scrolls only to what is not on screen already.
  const reveal = async (id) => {
    walk();
    const tile = await find(id);
    if (tile && !visible(tile)) tile.scrollIntoView({ block: "center", behavior: "instant" });
    return tile;
  };

  // ---- after something was done to pictures: what left goes, and nobody loses the place
  const renew = async () => {
    changedAt = performance.now();
    const order = tiles().map((t) => t.id), at = order.indexOf(document.activeElement?.id);
    const live = [...wall.querySelectorAll(".chunk:not([data-empty])")];
    const found = await Promise.all(live.map((chunk) => get(chunk.dataset.url).catch(() => null)));
    steady(() => {
      live.forEach((chunk, n) => {
        if (!found[n] || !chunk.isConnected) return;
        const added = [...found[n].children];
        chunk.replaceWith(found[n]);
        added.forEach(watch);
      });
    });
    if (!wall.querySelector(".chunk")) {
      // The last of it is gone: the page that says so also says what was done, with its undo.
      sessionStorage.setItem("toasts", document.getElementById("toasts").innerHTML);
      location.href = address("/", {});
      return;
    }
    if (at >= 0) {
      const next = [...order.slice(at), ...order.slice(0, at).reverse()].find((id) => document.getElementById(id));
      document.getElementById(next)?.focus({ preventScroll: true });
    }
    told();
  };
  let again = 0;
  document.body.addEventListener("operation:done", () => {
    clearTimeout(again);
    again = setTimeout(renew, 60);
  });

  // ---- while the first page still fills: never under a hand that has begun to scroll or to walk
  document.body.addEventListener("htmx:before:request", (event) => {
    if (event.target.id === "wall" && (scrollY > 40 || event.target.contains(document.activeElement))) event.preventDefault();
  });
  document.body.addEventListener("htmx:after:swap", () => { now = measure(); begin(); });
  begin();
  return { query, address, topTile, under, tiles, beside, reveal, renew };
})();
