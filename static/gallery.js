// The address is the position, keys walk along the rows, and the month in view is always named.
(() => {
  if (!Wall) return;
  const SETTLE = 150, NAMING = 80, wall = document.getElementById("wall");
  const { address, topTile, under, tiles, beside } = Wall;
  const dated = wall.dataset.months !== undefined;
  history.scrollRestoration = "manual";

  // ---- the month in view: in the toolbar, on the scrubber, and afloat while one scrolls
  const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  const fab = document.querySelector(".fab-month");
  let month = "";
  const nameMonth = () => {
    const place = dated && topTile()?.closest(".row")?.dataset.at;
    if (!place) return;
    const of = `${place.slice(0, 4)}-${place.slice(4, 6)}`;
    document.body.classList.toggle("scrolled", scrollY > 160);
    if (of === month) return;
    month = of;
    for (const label of document.querySelectorAll("[data-month]")) {
      label.textContent = `${MONTHS[Number(of.slice(5)) - 1]} ${Number(of.slice(0, 4))}`;
    }
    markMonth();
  };
  const markMonth = () => {
    document.querySelectorAll("[data-of][aria-current]").forEach((link) => link.removeAttribute("aria-current"));
    document.querySelectorAll(`[data-of="${month}"]`).forEach((link) => link.setAttribute("aria-current", "true"));
  };
  // How many a month holds is known once the scrubber is there; it stands beside the heading.
  const countMonths = () => {
    for (const heading of wall.querySelectorAll(".month:not(:has(.n))")) {
      const place = heading.nextElementSibling?.querySelector(".row")?.dataset.at ?? "";
      const bar = document.querySelector(`.scrub [data-of="${place.slice(0, 4)}-${place.slice(4, 6)}"]`);
      if (!bar) continue;
      const count = document.createElement("span");
      count.className = "n";
      count.textContent = bar.dataset.count;
      heading.append(count);
    }
  };
  document.body.addEventListener("htmx:after:swap", () => { month = ""; nameMonth(); countMonths(); });
  document.body.addEventListener("wall:changed", countMonths);

  // ---- the address
  const mark = (tile) => {
    const row = tile?.closest(".row");
    if (!row) return;
    const state = { ...history.state, off: tile.getBoundingClientRect().top };
    history.replaceState(state, "", `${address("/", { at: row.dataset.at })}#${tile.id}`);
  };
  let touched = false, timer = 0, naming = 0;
  const here = () => location.pathname === "/";
  const settle = () => {
    if (!touched || !here()) return;
    if (scrollY < 4 && !wall.querySelector('.pager[data-way="after"]')) {
      history.replaceState({ ...history.state, off: null }, "", address("/", {}));
    } else mark(topTile());
  };
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(kind, () => { touched = true; }, { passive: true });
  }
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(settle, SETTLE);
    naming ||= setTimeout(() => { naming = 0; nameMonth(); }, NAMING);
  }, { passive: true });
  // Leaving through a tile: that tile is what must be found again.
  document.addEventListener("click", (event) => {
    const tile = event.target.closest?.(".tile > a");
    if (tile && here() && !event.ctrlKey && !event.metaKey && !event.shiftKey) mark(tile);
    const keeper = event.target.closest?.("[data-keeps-place]");
    if (keeper) {
      const to = new URL(keeper.href);
      to.searchParams.set("to", location.pathname + location.search + location.hash);
      keeper.href = to;
    }
  }, true);
  const restore = () => {
    const tile = location.hash.startsWith("#a") && document.getElementById(location.hash.slice(1));
    if (!tile) return;
    const wanted = history.state?.off ?? under() + 24;
    const correct = () => { if (!touched) scrollBy(0, tile.getBoundingClientRect().top - wanted); };
    correct();
    requestAnimationFrame(() => { correct(); requestAnimationFrame(correct); });
    addEventListener("load", correct, { once: true });
  };

  // ---- one tile of the wall can be reached by Tab; arrows walk from there, and Tab leaves the wall
  let current = null;
  const rove = () => {
    const all = tiles();
    if (!current?.isConnected) current = document.getElementById(current?.id) ?? topTile() ?? all[0];
    for (const tile of all) if (tile !== current) tile.tabIndex = -1;
    if (current) current.tabIndex = 0;
  };
  wall.addEventListener("focusin", (event) => {
    const tile = event.target.closest(".tile > a");
    if (!tile || tile === current) return;
    if (current) current.tabIndex = -1;
    current = tile;
    tile.tabIndex = 0;
  });
  document.body.addEventListener("wall:changed", rove);
  rove();

  const focused = () => document.activeElement?.closest?.(".tile > a");
  const go = (tile) => { if (tile) { tile.focus({ preventScroll: true }); tile.scrollIntoView({ block: "nearest", behavior: "instant" }); } };
  const middle = (e) => { const box = e.getBoundingClientRect(); return box.left + box.width / 2; };
  const sideways = (step) => async () => {
    const tile = focused();
    go(tile ? await beside(tile.id, step) : topTile());
  };
  const upright = (step) => (key) => {
    const tile = focused();
    // Without a tile in hand the arrows scroll, as everywhere.
    if (!tile) return key.startsWith("Arrow") ? false : void go(topTile());
    walk(tile, step);
  };
  const walk = async (tile, step) => {
    const row = tile.closest(".row"), last = [...row.querySelectorAll(".tile > a")].at(step > 0 ? -1 : 0);
    const edge = await beside(last.id, step), next = edge?.closest(".row");
    if (!next) return;
    const at = middle(tile);
    go([...next.querySelectorAll(".tile > a")].reduce((a, b) => Math.abs(middle(b) - at) < Math.abs(middle(a) - at) ? b : a));
  };
  const jump = (key) => {
    const all = [...document.querySelectorAll(".scrub [data-of]")].sort((a, b) => a.dataset.of < b.dataset.of ? 1 : -1);
    const to = all[all.findIndex((link) => link.dataset.of === month) + (key === "]" ? 1 : -1)];
    if (to) location.href = to.href;
  };
  const density = (key) => {
    const all = [...document.querySelectorAll("[data-density]")];
    const at = all.findIndex((link) => link.hasAttribute("aria-current"));
    all[at + (key === "+" ? 1 : -1)]?.click();
  };
  Keys.bind("grid", { left: sideways(-1), right: sideways(1), up: upright(-1), down: upright(1),
    open: () => (focused() ? false : void go(topTile())), month: jump, density });
  Keys.enter("grid");

  // ---- two fingers: larger or smaller pictures
  const spread = (event) => Math.hypot(event.touches[0].clientX - event.touches[1].clientX,
    event.touches[0].clientY - event.touches[1].clientY);
  let apart = 0;
  wall.addEventListener("touchstart", (event) => { apart = event.touches.length === 2 ? spread(event) : 0; }, { passive: true });
  wall.addEventListener("touchmove", (event) => {
    if (!apart || event.touches.length !== 2) return;
    const by = spread(event) / apart;
    if (by > 1.35 || by < 0.75) { apart = 0; density(by > 1 ? "+" : "-"); }
  }, { passive: true });

  restore();
  nameMonth();
  countMonths();
  if (fab) fab.hidden = !dated;
})();
