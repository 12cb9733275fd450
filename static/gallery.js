// The address is the position, and arrows walk along the rows.
(() => {
  if (!Wall) return;
  const SETTLE = 150, { topTile, under } = Wall;
  history.scrollRestoration = "manual";

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

  restore();
})();
