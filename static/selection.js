// What is selected: a query, ranges, single pictures and exceptions; the server counts and acts on it.
const Picks = (() => {
  const wall = document.getElementById("wall"), bar = document.getElementById("selbar");
  if (!wall || !bar || !Operations) return null;
  const KEY = "selection", { post } = Operations;
  const query = () => new URLSearchParams(location.search).get("q") ?? "";
  const fresh = () => ({ q: query(), all: false, ranges: [], ids: [], without: [], anchor: null, count: 0 });

  const load = () => {
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEY));
      // Ranges have no meaning in another search; what is kept belongs to this one only.
      return kept && kept.q === query() ? { ...fresh(), ...kept } : fresh();
    } catch { return fresh(); }
  };
  let state = load(), counting = null, turn = 0;

  // ---- membership: a place is a value and an id, and lies in a range whichever way that was drawn
  const idOf = (tile) => Number(tile.querySelector("a").id.slice(1));
  const placeOf = (tile) => tile.dataset.place;
  const split = (place) => {
    const at = place.lastIndexOf("_"), value = place.slice(0, at);
    return [value.includes("T") ? value : Number(value), Number(place.slice(at + 1))];
  };
  const compare = (a, b) => {
    const [x, m] = split(a), [y, n] = split(b);
    return x < y ? -1 : x > y ? 1 : m - n;
  };
  const within = (place, [from, to]) => {
    const a = compare(place, from), b = compare(place, to);
    return a === 0 || b === 0 || (a < 0) !== (b < 0);
  };
  const has = (id, place) => !state.without.includes(id)
    && (state.all || state.ids.includes(id) || state.ranges.some((range) => within(place, range)));
  const some = () => state.all || state.ranges.length > 0 || state.ids.length > 0;

  // ---- showing it
  const number = new Intl.NumberFormat("en");
  const mark = () => {
    for (const tile of wall.querySelectorAll(".tile")) {
      const box = tile.querySelector(".pick");
      if (box) box.checked = some() && has(idOf(tile), placeOf(tile));
    }
  };
  const say = (count) => {
    const label = document.getElementById("selected");
    label.dataset.count = count ?? "";
    label.textContent = count === null ? "Counting" : `${number.format(count)} selected`;
  };
  const begins = /(?:^|\s)is:(trashed|archived)(?=\s|$)/;
  const view = () => ({ trashed: "trash", archived: "archive" })[begins.exec(query())?.[1]] ?? "wall";
  const draw = () => {
    const on = some() && state.count !== 0;
    bar.hidden = !on;
    document.body.classList.toggle("selecting", on);
    for (const part of bar.querySelectorAll("[data-in]")) part.hidden = !part.dataset.in.split(" ").includes(view());
    bar.querySelector('[data-act="all"]').hidden = state.all && state.without.length === 0;
    mark();
  };
  const payload = (chosen = state) => JSON.stringify({ q: chosen.q, all: chosen.all, ranges: chosen.ranges, ids: chosen.ids, without: chosen.without });
  const ask = async (chosen) => {
    const answer = await post("/selection/count", { selection: payload(chosen) });
    return answer.ok ? Number(/data-count="(\d+)"/.exec(answer.text)[1]) : null;
  };

  let everything = null;
  const offer = async () => {
    const link = bar.querySelector('[data-act="all"]');
    if (everything === query()) return;
    everything = query();
    const count = await ask({ ...fresh(), all: true });
    if (count !== null) link.textContent = `Select all ${number.format(count)}`;
  };
  // `known` is the count where it follows from the one before: one more or less needs no server.
  const changed = (known = null) => {
    const mine = ++turn;
    if (!some()) state = { ...fresh(), anchor: state.anchor };
    const plain = !state.all && state.ranges.length === 0;
    state.count = plain ? state.ids.filter((id) => !state.without.includes(id)).length : known;
    say(state.count);
    draw();
    counting = state.count !== null ? Promise.resolve(state.count) : ask(state).then((count) => {
      if (mine !== turn) return counting;
      state.count = count;
      if (count !== null) { say(count); draw(); keep(); }
      return count;
    });
    keep();
    if (some()) { offer(); fetched(); }
  };
  const keep = () => { sessionStorage.setItem(KEY, JSON.stringify(state)); };

  // ---- changing it
  const set = (id, place, on) => {
    const covered = state.all || state.ranges.some((range) => within(place, range)), before = state.count;
    if (on === has(id, place)) return;
    state.ids = state.ids.filter((each) => each !== id);
    state.without = state.without.filter((each) => each !== id);
    if (on && !covered) state.ids.push(id);
    if (!on && covered) state.without.push(id);
    state.anchor = { id, place };
    changed(before === null ? null : before + (on ? 1 : -1));
  };
  const toggle = (id, place) => set(id, place, !has(id, place));
  const flip = (tile) => toggle(idOf(tile), placeOf(tile));
  // One anchor draws one range: going on with Shift moves its end instead of adding another.
  const reach = (tile) => {
    const place = placeOf(tile), anchor = state.anchor;
    if (!anchor) { flip(tile); return; }
    if (anchor.drawn) state.ranges.pop();
    else state.ids = state.ids.filter((id) => id !== anchor.id);
    state.without = state.without.filter((id) => id !== anchor.id && id !== idOf(tile));
    state.ranges.push([anchor.place, place]);
    state.anchor = { ...anchor, drawn: true };
    changed();
  };
  const all = () => { state = { ...fresh(), all: true }; changed(); };
  const clear = () => { state = fresh(); changed(); };

  // ---- acting: on what is selected, or else on the picture that has the focus
  const focused = () => document.activeElement?.closest?.("#wall .tile") ?? null;
  const target = async () => {
    if (some()) return { chosen: state, count: await counting };
    const tile = focused();
    return tile && { chosen: { ...fresh(), ids: [idOf(tile)] }, count: 1 };
  };
  const perform = async (url, fields) => {
    const aim = await target();
    if (!aim || aim.count === null) return false;
    const answer = await post(url, { selection: payload(aim.chosen), expect: aim.count, ...fields });
    // Something changed while one looked: the right number stands there for the next try.
    if (answer.status === 409) changed();
    return answer.ok;
  };
  const act = (kind, fields = {}) => perform("/operations", { kind, ...fields });

  // ---- dialogs come with a script of their own, when somebody first selects something
  let acting = null;
  const dialogs = {};
  const fetched = () => acting ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = bar.dataset.dialogs;
    script.onload = done;
    script.onerror = () => { acting = null; Operations.line("The dialog did not load. Try again."); failed(); };
    document.head.append(script);
  });
  const dialog = (name) => async () => { await fetched(); dialogs[name](); };
  const tags = dialog("tags"), purge = dialog("purge"), date = dialog("date");
  const empty = () => { all(); purge(); };

  const acts = { clear, all, tag: tags, purge, date, empty, rate: (button) => act("rate", { rating: button.dataset.rating }) };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-act]");
    if (button) {
      button.closest("[popover]")?.hidePopover();
      const known = acts[button.dataset.act];
      if (known) known(button); else act(button.dataset.act);
    }
  });

  document.body.addEventListener("operation:done", ({ detail }) => {
    if (detail.moves && !detail.undoes) clear();
    else if (some()) changed();
  });
  for (const name of ["wall:changed", "htmx:after:swap"]) document.body.addEventListener(name, mark);
  addEventListener("pageshow", (event) => { if (event.persisted) { state = load(); changed(); } });
  if (some()) changed(); else draw();

  return { has, toggle, flip, reach, clear, all, act, tags, purge, date, some, view, focused, begun: () => state.anchor !== null,
    dialogs, target, payload, perform, number };
})();
