// How one selects: the pick in the corner, Shift, keys, and a long press that may go on as a drag.
(() => {
  if (!Picks) return;
  const wall = document.getElementById("wall");
  const PRESS_MS = 450, SLIP = 10, EDGE = 90, SPEED = 14;
  const tileAt = (event) => event.target.closest?.("#wall .tile");

  let shifted = false, swallow = 0;
  document.addEventListener("click", (event) => {
    const tile = tileAt(event);
    if (!tile) return;
    shifted = event.shiftKey;
    const stop = () => { event.preventDefault(); event.stopImmediatePropagation(); };
    if (performance.now() < swallow) { stop(); return; }
    if (event.target.closest(".pick") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey) { stop(); Picks.reach(tile); }
    else if (Picks.some() && event.pointerType === "touch") { stop(); Picks.flip(tile); }
  }, true);
  wall.addEventListener("change", (event) => {
    const tile = event.target.closest(".pick") && tileAt(event);
    if (!tile) return;
    if (shifted && Picks.begun()) Picks.reach(tile); else Picks.flip(tile);
  });

  // ---- a long press selects; without letting go, the finger draws a range
  let timer = 0, from = null, drawing = false, last = null, scroller = 0, speed = 0;
  const end = () => {
    clearTimeout(timer);
    cancelAnimationFrame(scroller);
    if (drawing) swallow = performance.now() + 400;
    drawing = false;
    scroller = speed = 0;
    from = last = null;
  };
  const over = (x, y) => {
    const tile = document.elementFromPoint(x, y)?.closest?.("#wall .tile");
    if (tile && tile !== last) { last = tile; Picks.reach(tile); }
  };
  const roll = () => {
    if (!drawing || !speed) { scroller = 0; return; }
    scrollBy(0, speed);
    over(from.x, from.y);
    scroller = requestAnimationFrame(roll);
  };
  wall.addEventListener("pointerdown", (event) => {
    const tile = tileAt(event);
    if (event.pointerType !== "touch" || !event.isPrimary || !tile) return;
    end();
    from = { x: event.clientX, y: event.clientY };
    timer = setTimeout(() => { drawing = true; last = tile; Picks.flip(tile); navigator.vibrate?.(15); }, PRESS_MS);
  });
  wall.addEventListener("pointermove", (event) => {
    if (from && !drawing && Math.hypot(event.clientX - from.x, event.clientY - from.y) > SLIP) end();
  });
  wall.addEventListener("touchmove", (event) => {
    if (!drawing) return;
    event.preventDefault();
    const { clientX: x, clientY: y } = event.touches[0];
    from = { x, y };
    over(x, y);
    speed = y < EDGE ? -SPEED : y > innerHeight - EDGE ? SPEED : 0;
    if (speed && !scroller) scroller = requestAnimationFrame(roll);
  }, { passive: false });
  for (const kind of ["touchend", "touchcancel"]) wall.addEventListener(kind, end);
  wall.addEventListener("contextmenu", (event) => { if (drawing || (from && tileAt(event))) event.preventDefault(); });

  // ---- keys
  const middle = (tile) => { const box = tile.getBoundingClientRect(); return box.left + box.width / 2; };
  const nearest = (row, tile) => [...row.querySelectorAll(".tile")].reduce((a, b) =>
    Math.abs(middle(b) - middle(tile)) < Math.abs(middle(a) - middle(tile)) ? b : a);
  const link = (tile) => tile.querySelector("a");
  // Pages that are not loaded yet are fetched on the way.
  const beside = async (tile, key) => {
    const step = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
    if (key === "ArrowLeft" || key === "ArrowRight") return (await Wall.beside(link(tile).id, step))?.closest(".tile");
    const row = [...tile.closest(".row").querySelectorAll(".tile")];
    const next = await Wall.beside(link(row.at(step > 0 ? -1 : 0)).id, step);
    return next && nearest(next.closest(".row"), tile);
  };
  const extend = async (tile, key) => {
    const next = await beside(tile, key);
    if (!next) return;
    if (!Picks.begun()) Picks.flip(tile);
    link(next).focus();
    Picks.reach(next);
  };
  const here = (then) => () => { const tile = Picks.focused(); if (!tile) return false; return then(tile); };
  const aimed = (then) => (key) => { if (!Picks.some() && !Picks.focused()) return false; then(key); };
  Keys.enter("grid");
  Keys.bind("grid", {
    // On the checkbox itself Space is the browser's.
    select: (key) => { if (document.activeElement.matches(".pick") && key === " ") return false; return here(Picks.flip)(); },
    range: (key) => here((tile) => { extend(tile, key.slice("Shift+".length)); })(),
    all: () => { Picks.all(); },
    clear: () => { if (!Picks.some()) return false; Picks.clear(); },
    tag: aimed(Picks.tags),
    rate: aimed((key) => Picks.act("rate", { rating: key })),
    favourite: aimed(() => Picks.act("favourite", { toggle: "1" })),
    archive: aimed(() => Picks.act(Picks.view() === "wall" ? "archive" : "keep")),
    trash: aimed(() => { if (Picks.view() === "trash") Picks.purge(); else Picks.act("trash"); }),
  });
})();
