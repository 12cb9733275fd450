// The sheet of keys, drawn from the table that binds them, and the keys that every page has.
(() => {
  const NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Escape: "Esc", Delete: "Del", "+": "+", "-": "−" };
  const mac = /Mac|iP(?:hone|ad)/.test(navigator.platform);
  const make = (tag, properties, ...inside) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...inside);
    return made;
  };
  const cap = (key) => {
    if (key === "Ctrl") return mac ? "⌘" : "Ctrl";
    return NAMES[key] ?? (key.length === 1 && key >= "A" && key <= "Z" ? `Shift ${key.toLowerCase()}` : key);
  };
  const chord = (spelled) => {
    const parts = spelled.includes(" ") && spelled !== " " ? spelled.split(" ") : spelled.length > 1 ? spelled.split("+") : [spelled];
    return parts.flatMap((part, at) => [at ? " " : "", make("kbd", {}, cap(part))]);
  };
  const caps = (row) => row.keys.flatMap((spelled, at) => [at ? " " : "", ...chord(spelled)]);

  const groups = (rows) => {
    const found = new Map();
    for (const row of rows) found.set(row.group, [...(found.get(row.group) ?? []), row]);
    return [...found].map(([name, members]) => make("section", {},
      make("h3", {}, name),
      make("dl", {}, ...members.map((row) => make("div", {}, make("dt", {}, row.words), make("dd", {}, ...caps(row)))))));
  };

  let dialog;
  const show = () => {
    if (!dialog) {
      dialog = make("dialog", { className: "dialog keysheet", id: "keysheet" });
      dialog.setAttribute("aria-labelledby", "keysheet-title");
      dialog.addEventListener("keydown", (event) => { if (event.key === "?") { event.preventDefault(); dialog.close(); } });
      dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
      document.body.append(dialog);
    }
    const close = make("button", { type: "button", className: "btn" }, "Close");
    close.addEventListener("click", () => dialog.close());
    dialog.replaceChildren(
      make("header", {}, make("h2", { id: "keysheet-title" }, "Keyboard"), close),
      make("div", { className: "keygroups" }, ...groups(Keys.TABLE.filter(Keys.isBound))),
      make("p", { className: "small dim" }, "Single keys can be switched off under ", make("a", { className: "link", href: "/settings/keyboard" }, "Settings"), "."),
    );
    dialog.showModal();
  };

  document.addEventListener("click", (event) => {
    const entry = event.target.closest?.("[data-key-sheet]");
    if (!entry || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    entry.closest("[popover]")?.hidePopover();
    show();
  });

  const places = { "go-gallery": "/", "go-folders": "/folders", "go-import": "/import", "go-history": "/history",
    "go-trash": "/?q=is%3Atrashed", "go-activity": "/admin/activity", "go-settings": "/settings" };
  const there = Object.entries(places).filter(([, path]) => document.querySelector(`.rail a[href="${path}"]`));
  const box = document.querySelector(".search input[type=search]");
  Keys.bind("page", {
    sheet: show,
    ...(box && { search: () => { box.focus(); box.select(); } }),
    ...Object.fromEntries(there.map(([name, path]) => [name, () => location.assign(path)])),
  });

  // On its own page the whole table stands, whatever is bound there.
  document.querySelector("[data-key-table]")?.replaceChildren(make("div", { className: "keygroups" }, ...groups(Keys.TABLE)));
})();
