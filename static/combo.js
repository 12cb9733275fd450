// A field that completes what is typed: options come from the server, the field stays a plain one without them.
(() => {
  const WAIT_MS = 80;
  const lists = new WeakMap();
  let serial = 0;

  const list = (field) => {
    if (lists.get(field)?.isConnected) return lists.get(field);
    const made = document.createElement("ul");
    made.className = "options";
    made.id = `options-${++serial}`;
    made.setAttribute("role", "listbox");
    made.setAttribute("aria-label", field.getAttribute("aria-label") || "Suggestions");
    made.hidden = true;
    field.after(made);
    field.closest(".combo")?.append(made);
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"],
      ["aria-controls", made.id], ["autocomplete", "off"]]) field.setAttribute(name, value);
    made.addEventListener("pointerdown", (event) => event.preventDefault());
    made.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) choose(field, option, event.ctrlKey || event.metaKey);
    });
    lists.set(field, made);
    return made;
  };
  const options = (field) => [...list(field).querySelectorAll("[role=option]")];
  const current = (field) => list(field).querySelector('[aria-selected="true"]');
  const close = (field) => {
    list(field).hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
    for (const option of options(field)) option.setAttribute("aria-selected", "false");
  };
  const mark = (field, option) => {
    for (const each of options(field)) each.setAttribute("aria-selected", String(each === option));
    if (option) { field.setAttribute("aria-activedescendant", option.id); option.scrollIntoView({ block: "nearest" }); }
    else field.removeAttribute("aria-activedescendant");
  };
  // Choosing fills the field and tells whoever owns it; with Ctrl the list stays for the next one.
  const choose = (field, option, keep) => {
    const chosen = new CustomEvent("combo:choose", {
      bubbles: true, cancelable: true, detail: { id: option.dataset.id, name: option.dataset.name, keep },
    });
    if (!keep) close(field);
    if (!field.dispatchEvent(chosen)) return;
    field.value = option.dataset.name;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };

  const asks = new WeakMap();
  const ask = async (field) => {
    asks.get(field)?.abort();
    const text = field.value.trim();
    if (!text) { close(field); return; }
    const control = new AbortController();
    asks.set(field, control);
    const url = new URL(field.dataset.complete, location.href);
    url.searchParams.set("text", text);
    try {
      const answer = await fetch(url, { signal: control.signal, headers: { "HX-Request-Type": "partial" } });
      if (!answer.ok || field !== document.activeElement) return;
      list(field).innerHTML = await answer.text();
      options(field).forEach((option, n) => { option.id = `${list(field).id}-${n}`; });
      list(field).hidden = !options(field).length;
      field.setAttribute("aria-expanded", String(!list(field).hidden));
    } catch (error) {
      if (error.name !== "AbortError") close(field);
    }
  };
  const timers = new WeakMap();
  const combo = (event) => event.target.matches?.("[data-complete]") ? event.target : null;
  document.addEventListener("input", (event) => {
    const field = combo(event);
    if (!field) return;
    list(field);
    clearTimeout(timers.get(field));
    timers.set(field, setTimeout(() => ask(field), WAIT_MS));
  });
  document.addEventListener("focusin", (event) => { if (combo(event)) list(event.target); });
  document.addEventListener("focusout", (event) => {
    const field = combo(event);
    if (field) { clearTimeout(timers.get(field)); asks.get(field)?.abort(); close(field); }
  });
  document.addEventListener("keydown", (event) => {
    const field = combo(event);
    if (!field || event.isComposing) return;
    const open = !list(field).hidden, all = options(field), at = all.indexOf(current(field));
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!open) { ask(field); return; }
      event.preventDefault();
      // Below the last one and above the first one stands what was typed itself.
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      mark(field, next < -1 ? all.at(-1) : all[next]);
    } else if (event.key === "Enter" && open && at >= 0) {
      event.preventDefault();
      choose(field, all[at], event.ctrlKey || event.metaKey);
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      close(field);
    }
  });
})();
