// The wall: pages of rows that come and go as one scrolls, and an address that is the position.
(() => {
  const wall = document.getElementById("wall");
  if (!wall) return;
  const NEAR = 1500, FAR = 5000, MOST = 300, SETTLE = 150;
  history.scrollRestoration = "manual";

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
  const load = async (pager) => {
    if (pager.dataset.busy) return;
    pager.dataset.busy = "1";
    try {
      const found = await get(pager.querySelector("a").dataset.from);
      found.querySelectorAll(".chunk").forEach(size);
      const added = [...found.children];
      steady(() => pager.replaceWith(found));
      added.forEach(watch);
      if (pager.dataset.way === "after") limit("last"); else limit("first");
    } catch {
      delete pager.dataset.busy;
      pager.classList.add("broken");
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
  const limit = (end) => {
    const chunks = wall.querySelectorAll(".chunk");
    if (chunks.length <= MOST) return;
    const far = end === "first" ? chunks[0] : chunks[chunks.length - 1];
    const from = new URLSearchParams(far.dataset.url.split("?")[1]);
    const beyond = end === "first" ? far.nextElementSibling : far.previousElementSibling;
    const edge = new URLSearchParams(beyond.dataset.url?.split("?")[1]);
    const pager = document.createElement("nav"), link = document.createElement("a");
    const way = end === "first" ? "after" : "before", place = edge.get(end === "first" ? "from" : "to") ?? from.get("to");
    pager.className = "pager";
    pager.dataset.way = way;
    link.className = "btn";
    link.textContent = way === "after" ? "Newer" : "Older";
    link.href = `/?${way}=${place}`;
    link.dataset.from = `/items?${way}=${place}`;
    pager.append(link);
    for (const old of wall.querySelectorAll(`.pager[data-way="${way}"]`)) old.remove();
    steady(() => far.replaceWith(pager));
    watch(pager);
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

  // ---- the address is the position
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
  const mark = (tile) => {
    const row = tile?.closest(".row");
    if (!row) return;
    const state = { ...history.state, off: tile.getBoundingClientRect().top };
    history.replaceState(state, "", `/?at=${row.dataset.at}#${tile.id}`);
    const moment = row.dataset.at, months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
    for (const label of document.querySelectorAll("[data-month]")) {
      label.textContent = `${months[Number(moment.slice(4, 6)) - 1]} ${Number(moment.slice(0, 4))}`;
    }
  };
  let touched = false, timer = 0;
  const settle = () => {
    if (!touched) return;
    if (scrollY < 4 && !document.querySelector('.pager[data-way="after"]')) {
      history.replaceState({ ...history.state, off: null }, "", "/");
    } else mark(topTile());
  };
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(kind, () => { touched = true; }, { passive: true });
  }
  addEventListener("scroll", () => { clearTimeout(timer); timer = setTimeout(settle, SETTLE); }, { passive: true });
  // Leaving through a tile: that tile is what must be found again.
  document.addEventListener("click", (event) => {
    const tile = event.target.closest?.(".tile > a");
    if (tile && !event.ctrlKey && !event.metaKey && !event.shiftKey) mark(tile);
    const keeper = event.target.closest?.("[data-keeps-place]");
    if (keeper) {
      const to = new URL(keeper.href);
      to.searchParams.set("to", location.pathname + location.search + location.hash);
      keeper.href = to;
    }
  });
  const restore = () => {
    const tile = location.hash.startsWith("#a") && document.getElementById(location.hash.slice(1));
    if (!tile) return false;
    const wanted = history.state?.off ?? under() + 24;
    const correct = () => { if (!touched) scrollBy(0, tile.getBoundingClientRect().top - wanted); };
    correct();
    requestAnimationFrame(() => { correct(); requestAnimationFrame(correct); });
    addEventListener("load", correct, { once: true });
    return true;
  };

  // ---- keys: arrows move within the rows, everything else is the browser's
  document.addEventListener("keydown", (event) => {
    const tile = document.activeElement?.closest?.(".tile > a");
    if (!tile || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const row = tile.closest(".row"), all = [...document.querySelectorAll(".tile > a")];
    const rows = [...document.querySelectorAll(".row")], at = rows.indexOf(row);
    const middle = (e) => { const box = e.getBoundingClientRect(); return box.left + box.width / 2; };
    const nearest = (next) => next && [...next.querySelectorAll(".tile > a")].reduce((a, b) =>
      Math.abs(middle(b) - middle(tile)) < Math.abs(middle(a) - middle(tile)) ? b : a);
    const next = { ArrowLeft: () => all[all.indexOf(tile) - 1], ArrowRight: () => all[all.indexOf(tile) + 1],
      ArrowUp: () => nearest(rows[at - 1]), ArrowDown: () => nearest(rows[at + 1]) }[event.key]?.();
    if (next) { event.preventDefault(); next.focus(); }
  });

  // ---- while the first page still fills: never under a hand that has begun to scroll or to walk
  document.body.addEventListener("htmx:before:request", (event) => {
    if (event.target.id === "wall" && (scrollY > 40 || event.target.contains(document.activeElement))) event.preventDefault();
  });
  document.body.addEventListener("htmx:after:swap", () => { now = measure(); begin(); });
  begin();
  restore();
})();
