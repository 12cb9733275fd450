// The reader: turns pages without leaving the page, fetches the next ones early, and keeps the place.
(() => {
  const body = document.body, { volume, pages } = body.dataset, count = Number(pages);
  const AHEAD = 3, KEEP_MS = 400, QUIET_MS = 2500, AGAIN_MS = 2000, DECODE_MS = 400, SWIPE = 48;
  const leaves = document.querySelector("#main"), slide = document.querySelector("[data-slide]");
  const told = document.querySelector("[data-told]"), screen = document.querySelector("[data-screen]");
  const manner = { fit: body.dataset.fit, two: body.dataset.two === "1", rtl: body.dataset.rtl === "1" };
  const spread = () => document.querySelector("[data-spread]");
  const first = () => Number(spread().dataset.first), last = () => Number(spread().dataset.last);
  const address = (page) => `/asset/${volume}/read?${new URLSearchParams({ page, fit: manner.fit, two: Number(manner.two), rtl: Number(manner.rtl) })}`;

  // ---- spreads, fetched once and with their pictures
  let fetched = new Map(), turning = 0;
  const fetchSpread = (page) => {
    if (!fetched.has(page)) {
      const asked = fetch(address(page), { headers: { "HX-Request": "true", "HX-Request-Type": "partial" } }).then(async (answer) => {
        if (!answer.ok) throw new Error(`spread: ${answer.status}`);
        const holder = document.createElement("template");
        holder.innerHTML = await answer.text();
        for (const leaf of holder.content.querySelectorAll("img")) new Image().src = leaf.src || leaf.getAttribute("src");
        return holder.content.firstElementChild;
      });
      asked.catch(() => fetched.delete(page));
      fetched.set(page, asked);
    }
    return fetched.get(page);
  };
  const early = async () => {
    let at = last();
    for (let n = 0; n < AHEAD && at < count; n += 1) {
      const found = await fetchSpread(at + 1);
      at = Number(found.dataset.last);
    }
    if (first() > 1) fetchSpread(first() - 1);
  };
  // Shown when it is decoded, so that no half picture is seen; but never waited for long.
  const decoded = (element) => Promise.race([
    Promise.allSettled([...element.querySelectorAll("img")].map((leaf) => leaf.decode())),
    new Promise((done) => { setTimeout(done, DECODE_MS); }),
  ]);
  const show = async (page, how = "replaceState") => {
    const mine = turning += 1;
    let found = null;
    try { found = (await fetchSpread(page)).cloneNode(true); } catch { location.assign(address(page)); return; }
    document.adoptNode(found);
    await decoded(found);
    if (mine !== turning) return;
    spread().replaceWith(found);
    found.querySelectorAll(".leaf").forEach(look);
    leaves.scrollTo(0, 0);
    history[how](history.state, "", address(first()));
    said();
    keep();
    early().catch(() => { /* fetched when it is turned to */ });
  };
  // A page that does not come says why in its place; one that is being made is asked for until it is there.
  const asked = new WeakSet();
  const ask = async (leaf) => {
    if (asked.has(leaf)) return;
    asked.add(leaf);
    const place = new URLSearchParams({ page: leaf.dataset.page, tried: Number("tried" in leaf.dataset) });
    const answer = await fetch(`/asset/${volume}/leaf?${place}`, { headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
    if (!answer.ok || !leaf.isConnected) return;
    const holder = document.createElement("template");
    holder.innerHTML = await answer.text();
    const found = holder.content.querySelector(".leaf");
    leaf.replaceWith(found);
    look(found);
  };
  const tell = (leaf) => { ask(leaf).catch(() => { /* told when the page is turned to again */ }); };
  const look = (leaf) => {
    if (leaf.matches("img")) { if (leaf.complete && !leaf.naturalWidth) tell(leaf); }
    else if ("again" in leaf.dataset) setTimeout(() => { if (leaf.isConnected) tell(leaf); }, AGAIN_MS);
  };
  leaves.addEventListener("error", (event) => { if (event.target.matches("img.leaf")) tell(event.target); }, true);

  // Presses that come while a page is under way are kept, and only where they end is shown.
  let pressed = 0, going = false;
  const step = async () => {
    const before = turning;
    let from = first(), to = last(), page = 0;
    while (pressed) {
      const next = pressed > 0 ? to + 1 : from - 1;
      if (next < 1 || next > count) { pressed = 0; break; }
      pressed -= Math.sign(pressed);
      page = next;
      const found = await fetchSpread(page).catch(() => null);
      // What does not come is gone to, so that the browser says why.
      if (!found) { pressed = 0; break; }
      from = Number(found.dataset.first);
      to = Number(found.dataset.last);
    }
    // Whoever went somewhere else meanwhile stays there.
    if (page && before === turning) await show(page);
  };
  const turn = async (by) => {
    pressed += by;
    if (going) return;
    going = true;
    try { while (pressed) await step(); } finally { going = false; pressed = 0; }
  };
  const said = () => {
    told.textContent = spread().dataset.told;
    slide.value = first();
    for (const link of document.querySelectorAll("[data-turn]")) {
      const page = link.dataset.turn > 0 ? last() + 1 : first() - 1;
      link.hidden = page < 1 || page > count;
      link.href = address(Math.min(Math.max(page, 1), count));
    }
    for (const link of document.querySelectorAll("[data-set]")) {
      const asked = new URL(address(first()), location.origin);
      asked.searchParams.set(link.dataset.set, link.dataset.value);
      link.href = asked.pathname + asked.search;
    }
  };

  // ---- the place, kept when the person rests on a page
  let keeping = 0;
  const send = () => {
    clearTimeout(keeping);
    keeping = 0;
    const asked = new URLSearchParams({ page: first(), rtl: Number(manner.rtl) });
    fetch(`/asset/${volume}/read?${asked}`, { method: "POST", keepalive: true }).catch(() => { /* kept with the next page */ });
  };
  const keep = () => { clearTimeout(keeping); keeping = setTimeout(send, KEEP_MS); };
  addEventListener("pagehide", () => { if (keeping) send(); });

  // ---- how it is read
  const mark = (link, on) => { if (on) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current"); };
  const flip = (name, on) => {
    for (const link of document.querySelectorAll(`[data-set="${name}"]`)) {
      Object.assign(link.dataset, { value: Number(!on), on: Number(on) });
      if (link.closest(".menu")) mark(link, on);
    }
  };
  const apply = () => {
    body.className = body.className.replace(/fit-\w+/, `fit-${manner.fit}`);
    for (const link of document.querySelectorAll('[data-set="fit"]')) mark(link, link.dataset.value === manner.fit);
    flip("two", manner.two);
    flip("rtl", manner.rtl);
    const two = document.querySelector('.read-top [data-set="two"]'), way = document.querySelector('.read-top [data-set="rtl"]');
    two.setAttribute("aria-label", manner.two ? "One page" : "Two pages");
    way.querySelector("[data-way]").textContent = manner.rtl ? "Right to left" : "Left to right";
    way.setAttribute("aria-label", way.textContent);
    for (const icon of document.querySelectorAll("[data-turn] .i, .read-top [data-set=rtl] .i")) icon.classList.toggle("mirrored", manner.rtl);
    for (const link of document.querySelectorAll("[data-turn]")) link.classList.toggle("other", manner.rtl);
    slide.dir = manner.rtl ? "rtl" : "ltr";
    document.cookie = `reader=${manner.fit}.${manner.two ? "two" : "one"}; path=/; max-age=31536000; samesite=lax`;
  };
  const set = (name, value) => {
    manner[name] = name === "fit" ? value : Boolean(value);
    fetched = new Map();
    apply();
    show(first());
  };
  const wide = () => { if (document.fullscreenElement) document.exitFullscreen(); else document.documentElement.requestFullscreen(); };
  const leave = () => {
    const from = document.referrer && new URL(document.referrer);
    if (from && from.origin === location.origin && !from.pathname.endsWith("/read") && history.length > 1) history.back();
    else location.assign(document.querySelector("[data-leave]").href);
  };

  // ---- the bars rest while nobody moves
  const menu = () => document.querySelector(":popover-open");
  let quiet = 0;
  const rest = () => { body.classList.add("quiet"); };
  const wake = () => { body.classList.remove("quiet"); clearTimeout(quiet); quiet = setTimeout(() => (menu() ? wake() : rest()), QUIET_MS); };
  addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") wake(); });
  addEventListener("focusin", (event) => { if (event.target.closest("[data-bars], [data-turn]")) wake(); });

  // ---- pointing, swiping, keys
  const side = (x) => (x < innerWidth / 3 ? -1 : x > innerWidth * 2 / 3 ? 1 : 0);
  const towards = (right) => turn(manner.rtl ? -right : right);
  // The touch that closes a menu does nothing else.
  let closes = false;
  document.addEventListener("pointerdown", () => { closes = Boolean(menu()); }, true);
  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    // What a note offers is followed as it is.
    if (event.target.closest(".leaf a")) return;
    const link = event.target.closest("[data-turn], [data-set], [data-leave]"), swallowed = closes && event.detail > 0;
    if (link) {
      event.preventDefault();
      menu()?.hidePopover();
      if (link.dataset.turn) { if (!swallowed) turn(Number(link.dataset.turn)); }
      else if (link.dataset.set) set(link.dataset.set, link.dataset.set === "fit" ? link.dataset.value : Number(link.dataset.value));
      else leave();
    } else if (event.target.closest("#main") && !swallowed) {
      const where = side(event.clientX);
      if (where) towards(where);
      else if (body.classList.contains("quiet")) wake();
      else rest();
    }
  });
  let touched = null;
  leaves.addEventListener("touchstart", (event) => {
    const [touch] = event.touches;
    touched = event.touches.length === 1 ? { x: touch.clientX, y: touch.clientY } : null;
  }, { passive: true });
  leaves.addEventListener("touchend", (event) => {
    if (!touched || closes || (visualViewport?.scale ?? 1) > 1.05 || leaves.scrollWidth > leaves.clientWidth + 1) return;
    const [touch] = event.changedTouches, x = touch.clientX - touched.x, y = touch.clientY - touched.y;
    if (Math.abs(x) < SWIPE || Math.abs(x) < 1.5 * Math.abs(y)) return;
    event.preventDefault();
    towards(x < 0 ? 1 : -1);
  });
  const down = (event) => {
    if (event.shiftKey) { turn(-1); return; }
    const below = leaves.scrollHeight - leaves.clientHeight - leaves.scrollTop;
    if (below > 4) leaves.scrollBy({ top: leaves.clientHeight * 0.9 });
    else turn(1);
  };
  const FITS = [...document.querySelectorAll('.read-top [data-set="fit"]')].map((link) => link.dataset.value);
  Keys.enter("reader");
  Keys.bind("reader", {
    leftward: () => towards(-1),
    rightward: () => towards(1),
    onward: (key, event) => down(event),
    first: () => { show(1); },
    last: () => { show(count); },
    full: () => { if (screen.hidden) return false; wide(); return true; },
    way: () => set("rtl", !manner.rtl),
    together: (key) => set("two", key === "2"),
    fit: () => set("fit", FITS[(FITS.indexOf(manner.fit) + 1) % FITS.length]),
    close: () => leave(),
  });
  slide.addEventListener("input", () => { told.textContent = `${slide.value} of ${count}`; });
  slide.addEventListener("change", () => show(Number(slide.value)));
  screen.addEventListener("click", wide);
  screen.hidden = !document.fullscreenEnabled;
  slide.hidden = count < 2;
  history.replaceState(history.state, "", address(first()));
  leaves.focus({ preventScroll: true });
  leaves.querySelectorAll(".leaf").forEach(look);
  wake();
  addEventListener("load", () => { early().catch(() => { /* fetched when it is turned to */ }); });
})();
