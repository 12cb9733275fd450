// The search box: suggestions while one writes. The text is the query; chips are drawn over it by the page.
(() => {
  const form = document.getElementById("search"), input = form?.querySelector("input[name=q]");
  if (!input) return;
  const DEBOUNCE = 80;
  const list = document.createElement("div");
  list.className = "found";
  list.id = "found";
  list.hidden = true;
  form.append(list);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false",
    "aria-haspopup": "listbox" })) input.setAttribute(name, value);
  const before = input.value;
  let timer = 0, asked = null, active = -1;

  const options = () => [...list.querySelectorAll("[role=option]")];
  const point = (at) => {
    const all = options();
    active = all.length ? (at + all.length + 1) % (all.length + 1) : -1;
    if (active === all.length) active = -1;
    all.forEach((each, n) => each.setAttribute("aria-selected", String(n === active)));
    if (active < 0) input.removeAttribute("aria-activedescendant");
    else {
      input.setAttribute("aria-activedescendant", all[active].id);
      all[active].scrollIntoView({ block: "nearest" });
    }
  };
  const show = (open) => {
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (open) input.setAttribute("aria-controls", "options"); else input.removeAttribute("aria-controls");
    if (!open) { active = -1; input.removeAttribute("aria-activedescendant"); }
  };
  const close = () => { clearTimeout(timer); asked?.abort(); show(false); };

  const ask = async () => {
    asked?.abort();
    const mine = asked = new AbortController();
    const at = input.selectionStart ?? input.value.length;
    try {
      const answer = await fetch(`/search/complete?${new URLSearchParams({ q: input.value, at })}`,
        { signal: mine.signal, headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
      if (!answer.ok || answer.headers.get("HX-Redirect")) return;
      const text = await answer.text();
      if (mine.signal.aborted || document.activeElement !== input) return;
      list.innerHTML = text;
      delete list.dataset.taken;
      show(options().length > 0);
      point(-1);
    } catch { /* aborted by the next letter, or the server is away: the box works without */ }
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(ask, DEBOUNCE); };

  // The server says what the whole text becomes and where the caret stands then. What else is taken from the
  // same list follows the caret: its word was replaced already.
  const take = (option, keep) => {
    const { text, at, insert, open } = option.dataset, caret = input.selectionStart, more = list.dataset.taken !== undefined;
    input.value = more ? input.value.slice(0, caret) + insert + input.value.slice(caret) : text;
    const next = more ? caret + insert.length : Number(at);
    input.focus();
    input.setSelectionRange(next, next);
    if (open !== undefined) ask();
    else if (keep) { list.dataset.taken = ""; option.classList.add("taken"); clearTimeout(timer); asked?.abort(); }
    else { close(); form.requestSubmit(); }
  };

  input.addEventListener("input", soon);
  // A fetch for each click on the field would flicker; one at the first look and one where the cursor is put.
  input.addEventListener("focus", () => {
    if (form.classList.contains("chipped") && input.value === before && before && !before.endsWith(" ")) {
      input.value = `${before} `;
    }
    soon();
  });
  input.addEventListener("click", soon);
  input.addEventListener("blur", () => {
    close();
    if (input.value.trim() === before.trim()) input.value = before;
    else form.classList.remove("chipped");
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (list.hidden) ask(); else point(active + (event.key === "ArrowDown" ? 1 : -1));
      event.preventDefault();
    } else if (event.key === "Enter") {
      const chosen = options()[active];
      if (chosen) { event.preventDefault(); take(chosen, event.ctrlKey || event.metaKey); }
      else if (event.ctrlKey || event.metaKey) {
        const first = options()[0];
        if (first) { event.preventDefault(); take(first, true); }
      }
    } else if (event.key === "Tab" && active >= 0) {
      event.preventDefault();
      take(options()[active], true);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (!list.hidden) close(); else { input.value = before; input.blur(); }
    }
  });
  // Before the field loses its focus, so that the list is still there when the click arrives.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) take(option, event.ctrlKey || event.metaKey);
  });
  form.addEventListener("submit", (event) => {
    input.value = input.value.trim();
    if (!input.value) { event.preventDefault(); location.href = "/"; }
  });
  Keys.bind("page", { search: () => { input.focus(); input.setSelectionRange(input.value.length, input.value.length); } });
})();
