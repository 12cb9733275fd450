// The viewer over the living gallery: PhotoSwipe zooms and pans, everything else is here.
const Viewer = (root, PhotoSwipe) => {
  const MIDDLE = 1_000_000, AHEAD = 15, PANEL_MS = 150;
  const part = (name) => root.querySelector(`[data-${name}]`);
  const pictures = part("pictures"), panel = part("panel"), marks = part("marks-of");
  const say = (name, detail) => document.body.dispatchEvent(new CustomEvent(`viewer:${name}`, { detail }));
  const wide = () => matchMedia("(min-width: 1000px)").matches;
  let swipe = null, run = null, timer = 0, pane = "info", beside = [], told = null;

  // ---- the assets of the search, numbered from somewhere in the middle until its first one is known
  const load = async (way, place, id) => {
    const asked = new URLSearchParams({ way });
    if (run?.q ?? root.dataset.q) asked.set("q", run?.q ?? root.dataset.q);
    if (place) asked.set("place", place);
    const answer = await fetch(`/asset/${id}/run?${asked}`);
    if (!answer.ok) throw new Error(`run: ${answer.status}`);
    return answer.json();
  };
  const begin = async (id, q) => {
    root.dataset.q = q;
    run = null;
    const here = await load("here", "", id);
    if (!here.items.length || here.items[0].id !== id) throw new Error("not in this search");
    const newer = await load("newer", here.items[0].place, id);
    const at = newer.more ? MIDDLE : newer.items.length, items = new Map();
    here.items.forEach((item, n) => items.set(at + n, item));
    newer.items.forEach((item, n) => items.set(at - 1 - n, item));
    return { q, items, at, low: at - newer.items.length, high: at + here.items.length - 1,
      first: !newer.more, last: !here.more, busy: false };
  };
  // The first one is reached: numbers begin at 0, so that nothing can be swiped before it.
  const renumber = () => {
    const by = run.low;
    run.items = new Map([...run.items].map(([n, item]) => [n - by, item]));
    run.low = 0;
    run.high -= by;
    swipe.currIndex -= by;
    swipe.potentialIndex -= by;
    for (const holder of swipe.mainScroll.itemHolders) if (holder.slide) holder.slide.index -= by;
    for (const content of swipe.contentLoader._cachedItems) content.index -= by;
  };
  const extend = async () => {
    const mine = run, at = swipe.currIndex;
    if (mine.busy) return;
    const way = !mine.last && at > mine.high - AHEAD ? "older" : !mine.first && at < mine.low + AHEAD ? "newer" : "";
    if (!way) return;
    mine.busy = true;
    try {
      const edge = way === "older" ? mine.high : mine.low, { id, place } = mine.items.get(edge);
      const found = await load(way, place, id);
      if (run !== mine || !swipe) return;
      found.items.forEach((item, n) => mine.items.set(way === "older" ? edge + 1 + n : edge - 1 - n, item));
      if (way === "older") { mine.high += found.items.length; mine.last = !found.more; }
      else { mine.low -= found.items.length; mine.first = !found.more; }
      if (found.items.length) swipe.refreshSlideContent(way === "older" ? edge + 1 : edge - 1);
      if (mine.first && mine.low > 0) renumber();
      steps();
    } catch { /* asked for again with the next step */ } finally { mine.busy = false; }
  };

  // ---- what PhotoSwipe shows of one asset
  const moving = (item) => item.film || item.failed;
  // Films fill the stage whatever their size; pictures are never blown up unasked.
  const large = (item) => moving(item) ? Math.max(1, 2560 / item.width) : 1;
  const slide = (item) => item && ({
    item, width: item.width * large(item), height: item.height * large(item), alt: item.title,
    ...(moving(item) ? { type: "film" } : { src: item.src, msrc: item.under }),
  });
  const film = (item) => {
    const holder = document.createElement("div");
    holder.className = "film over-film";
    if (item.under) {
      const poster = new Image();
      Object.assign(poster, { src: item.under, alt: item.title, className: "film-poster" });
      holder.append(poster);
    }
    if (item.failed) {
      const says = document.createElement("p");
      Object.assign(says, { className: "film-says small", textContent: item.failed });
      holder.append(says);
    } else if (item.film === "wish") {
      Object.assign(holder.dataset, { film: item.id, poster: item.under });
    } else {
      const video = document.createElement("video");
      Object.assign(video, { src: item.closely, controls: true, playsInline: true, preload: "metadata", className: "shown" });
      if (item.under) video.poster = item.under;
      holder.append(video);
    }
    return holder;
  };
  // Beyond the preview's own pixels the original takes its place, decoded before it is shown.
  const sharpen = async ({ content }) => {
    const item = content?.data.item, image = content?.element;
    if (!item || item.kind !== "still" || content.closely || !(image instanceof HTMLImageElement) || !image.naturalWidth) return;
    if (content.slide?.currZoomLevel <= content.slide?.zoomLevels.fit * 1.05) return;
    if (content.displayedImageWidth * devicePixelRatio <= image.naturalWidth * 1.1) return;
    content.closely = true;
    const full = new Image();
    full.src = item.closely;
    try {
      await full.decode();
      if (content.element === image) image.src = full.src;
    } catch { content.closely = false; }
  };

  // ---- the frame around it
  const current = () => swipe && run.items.get(swipe.currIndex);
  const address = (item) => `/asset/${item.id}${run.q ? `?q=${encodeURIComponent(run.q)}` : ""}`;
  const write = (how, item) => history[how]({ ...history.state, viewer: item.id, q: run.q }, "", address(item));
  const steps = () => {
    root.querySelector('[data-does="previous"]').disabled = !run.items.has(swipe.currIndex - 1);
    root.querySelector('[data-does="next"]').disabled = !run.items.has(swipe.currIndex + 1);
  };
  const picked = (item) => {
    part("picked").hidden = typeof Picks === "undefined" || !Picks?.some() || !Picks.has(item.id, item.place);
  };
  const described = async () => {
    const item = current();
    if (!item) return;
    const asked = new URLSearchParams({ pane });
    if (run.q) asked.set("q", run.q);
    try {
      const answer = await fetch(`/asset/${item.id}/panel?${asked}`, { headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
      if (!answer.ok || current()?.id !== item.id) return;
      panel.innerHTML = await answer.text();
      const mark = panel.querySelector("[data-marks-part]");
      marks.replaceChildren(...(mark?.childNodes ?? []));
      mark?.remove();
      for (const each of [panel, marks]) htmx.process(each);
      panel.scrollTop = 0;
      told = item.id;
    } catch { /* the picture is what matters; the next step asks again */ }
  };
  const changed = () => {
    const item = current();
    if (!item) return;
    part("title").textContent = item.title;
    part("when").textContent = item.when;
    part("closely").href = item.closely;
    Motion.stop();
    const film = part("motion");
    film.hidden = !item.motion;
    film.href = `/media/${item.id}/${item.motion === "original" ? "motion" : "play"}`;
    Object.assign(film.dataset, { motion: item.id, played: item.motion });
    part("reads").hidden = item.kind !== "volume";
    part("reads").href = `/asset/${item.id}/read`;
    part("download").href = `/media/${item.id}/original?download=1`;
    root.dataset.asset = item.id;
    if (history.state?.viewer !== item.id) write("replaceState", item);
    picked(item);
    steps();
    extend();
    clearTimeout(timer);
    // What was only drawn anew has its words already, and the answer to a press may be on its way to them.
    if (told !== item.id) timer = setTimeout(described, PANEL_MS);
    say("at", { id: item.id, place: item.place });
  };
  const show = (shown) => {
    panel.hidden = !shown;
    root.classList.toggle("with-panel", shown);
    root.querySelector('[data-does="panel"]').setAttribute("aria-pressed", String(shown));
    if (swipe) swipe.updateSize(true);
  };

  // ---- opening and closing
  const options = () => ({
    dataSource: [], index: run.at, appendToEl: pictures, mainClass: "over-swipe",
    showHideAnimationType: "none", zoomAnimationDuration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200,
    bgOpacity: 1, loop: false, escKey: false, arrowKeys: false, trapFocus: false, returnFocus: false,
    wheelToZoom: true, preload: [1, 2], bgClickAction: false, imageClickAction: "zoom", tapAction: false, doubleTapAction: "zoom",
    initialZoomLevel: "fit", secondaryZoomLevel: (z) => Math.max(1 / devicePixelRatio, z.fit * 2), maxZoomLevel: (z) => Math.max(4, z.fit * 4),
    arrowPrev: false, arrowNext: false, close: false, zoom: false, counter: false,
    getViewportSizeFn: () => ({ x: pictures.clientWidth, y: pictures.clientHeight }),
    paddingFn: (size) => size.x < 700 ? { top: 56, bottom: 0, left: 0, right: 0 } : { top: 60, bottom: 20, left: 72, right: 72 },
  });
  const build = () => {
    swipe = new PhotoSwipe(options());
    swipe.addFilter("numItems", () => run.high + 1);
    swipe.addFilter("itemData", (_, index) => slide(run.items.get(index)) ?? { type: "film", width: 1, height: 1 });
    swipe.addFilter("placeholderSrc", (_, content) => content.data.msrc || false);
    swipe.addFilter("useContentPlaceholder", (use, content) => use && Boolean(content.data.msrc));
    swipe.on("contentLoad", (event) => {
      if (event.content.type !== "film") return;
      event.preventDefault();
      event.content.element = event.content.data.item ? film(event.content.data.item) : document.createElement("div");
      event.content.onLoaded();
    });
    swipe.on("loadComplete", ({ content }) => {
      if (content.data.item?.turn) content.element.classList.add(`turned-${content.data.item.turn}`);
    });
    swipe.on("contentActivate", ({ content }) => { if (content.element?.dataset?.film) Film.start(content.element); });
    for (const name of ["contentDeactivate", "contentDestroy"]) swipe.on(name, ({ content }) => {
      if (content.element?.dataset?.film) Film.stop(content.element);
      else content.element?.querySelector?.("video")?.pause();
    });
    swipe.on("imageSizeChange", sharpen);
    swipe.on("change", changed);
    // Its own keys are not in the table: Z would turn an undo into a zoom as well.
    swipe.on("keydown", (event) => event.preventDefault());
    // The controls of a video belong to the video.
    swipe.on("pointerDown", (event) => {
      const video = event.originalEvent.target;
      if (video.closest?.(".film-says")) event.preventDefault();
      if (video.tagName === "VIDEO" && video.getBoundingClientRect().bottom - event.originalEvent.clientY < 80) event.preventDefault();
    });
    // Pulled down: the way out is the same as that of the Back button.
    swipe.on("close", () => { if (!root.hidden && history.state?.viewer) history.back(); });
    swipe.on("destroy", () => { swipe = null; closed(); });
    swipe.init();
    // The viewer around it is the dialog; PhotoSwipe calls itself one too, without a name.
    swipe.element.setAttribute("role", "group");
    swipe.element.setAttribute("aria-label", "Picture");
  };
  const hide = (on) => {
    if (on) beside = [...document.body.children].filter((each) => each !== root && each.id !== "toasts" && !each.inert && each.tagName !== "SCRIPT");
    for (const each of beside) each.inert = on;
    document.documentElement.classList.toggle("viewing", on);
  };
  const open = async (id, { q, again }) => {
    const found = await begin(id, q);
    run = found;
    root.hidden = false;
    const item = run.items.get(run.at);
    if (!again) write("pushState", item);
    // The gallery writes its own place into the address a moment after the last scroll.
    setTimeout(() => { if (!root.hidden && current()) write("replaceState", current()); }, 250);
    show(wide() && localStorage.getItem("panel") !== "off");
    hide(true);
    root.tabIndex = -1;
    root.focus({ preventScroll: true });
    Keys.enter("viewer");
    build();
    say("open", { id });
  };
  const last = { item: null };
  const closed = () => {
    clearTimeout(timer);
    Motion.stop();
    hide(false);
    root.hidden = true;
    Keys.leave("viewer");
    panel.replaceChildren();
    marks.replaceChildren();
    told = null;
    const item = last.item;
    if (item) home(item);
    say("close", { id: item?.id });
  };
  // Back to the tile: the gallery does not move if it can be seen, and is opened anew only far from what it holds.
  const home = async (item) => {
    const tile = document.getElementById(`a${item.id}`) ?? await Wall?.reveal(`a${item.id}`);
    if (!tile) {
      const asked = new URLSearchParams({ ...(run.q && { q: run.q }), at: item.place });
      location.replace(`/?${asked}#a${item.id}`);
      return;
    }
    const box = tile.getBoundingClientRect(), top = document.querySelector(".top")?.getBoundingClientRect().bottom ?? 0;
    tile.focus({ preventScroll: true });
    // What was thrown away in the viewer may just be leaving the wall, and takes the focused tile's chunk with it.
    const again = () => {
      if (document.activeElement === document.body) document.getElementById(tile.id)?.focus({ preventScroll: true });
    };
    document.body.addEventListener("wall:changed", again);
    setTimeout(() => document.body.removeEventListener("wall:changed", again), 3000);
    if (box.bottom < top + 8 || box.top > innerHeight - 8) tile.scrollIntoView({ block: "center", behavior: "instant" });
  };
  const close = () => {
    if (!swipe) return;
    last.item = current() ?? last.item;
    swipe.close();
  };
  addEventListener("popstate", (event) => {
    if (root.hidden || !swipe) return;
    if (!event.state?.viewer) close();
  });

  // ---- acts
  const step = (by) => { if (swipe && run.items.has(swipe.currIndex + by)) swipe.goTo(swipe.currIndex + by); };
  const video = () => swipe?.currSlide?.content.element?.querySelector?.("video:not([hidden])");
  const does = {
    close: () => history.state?.viewer ? history.back() : close(),
    previous: () => step(-1),
    next: () => step(1),
    panel: () => {
      show(panel.hidden);
      localStorage.setItem("panel", panel.hidden ? "off" : "on");
    },
    zoom: () => swipe?.toggleZoom(),
    select: () => {
      const item = current();
      if (!item || typeof Picks === "undefined" || !Picks) return false;
      Picks.toggle(item.id, item.place);
      picked(item);
      return true;
    },
    original: () => { part("closely").click(); },
    read: () => {
      if (current()?.kind !== "volume") return false;
      part("reads").click();
      return true;
    },
    mute: () => { const film = video(); if (!film) return false; film.muted = !film.muted; return true; },
    frame: (key) => {
      const film = video();
      if (!film) return false;
      film.pause();
      film.currentTime = Math.max(0, film.currentTime + (key === "," ? -1 : 1) / 25);
      return true;
    },
  };
  Keys.bind("viewer", does);
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-does]");
    if (button) does[button.dataset.does]();
    const tab = event.target.closest("[data-pane]");
    if (tab && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      pane = tab.dataset.pane;
      described();
    }
  });
  // What leaves the search makes room for the next one; what was turned is drawn anew.
  const LEAVES = { trash: "is:trashed", archive: "is:archived", private: "is:private" };
  document.body.addEventListener("operation:done", ({ detail }) => {
    const world = LEAVES[detail?.kind];
    if (!swipe || !world || detail.undoes || run.q.includes(world)) return;
    if (run.items.has(swipe.currIndex + 1)) step(1); else if (run.items.has(swipe.currIndex - 1)) step(-1); else does.close();
  });
  let turns = 0;
  document.body.addEventListener("asset:turned", async (event) => {
    const item = current();
    if (!swipe || event.detail?.id !== item?.id) return;
    const mine = ++turns, found = await load("here", item.place, item.id), fresh = found.items[0];
    // Of several quick turns the answers may overtake each other: only that of the last counts.
    if (!swipe || mine !== turns || fresh?.id !== item.id) return;
    const at = [...run.items].find(([, each]) => each.id === item.id)?.[0];
    run.items.set(at, fresh);
    swipe.refreshSlideContent(at);
  });
  return { open };
};
