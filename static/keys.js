// Keys: one table says what they do and where; the sheet behind `?` is drawn from the same table.
const Keys = (() => {
  // Scopes form a stack: the innermost open one answers first, "page" is always there.
  const TABLE = [
    { scope: "page", group: "Everywhere", keys: ["/"], name: "search", words: "Search" },
    { scope: "page", group: "Everywhere", keys: ["?"], name: "sheet", words: "This sheet" },
    { scope: "page", group: "Everywhere", keys: ["g t"], name: "go-gallery", words: "Go to the gallery" },
    { scope: "page", group: "Everywhere", keys: ["g f"], name: "go-folders", words: "Go to the folders" },
    { scope: "page", group: "Everywhere", keys: ["g i"], name: "go-import", words: "Go to import" },
    { scope: "page", group: "Everywhere", keys: ["g h"], name: "go-history", words: "Go to history" },
    { scope: "page", group: "Everywhere", keys: ["g x"], name: "go-trash", words: "Go to the trash" },
    { scope: "page", group: "Everywhere", keys: ["g a"], name: "go-activity", words: "Go to activity" },
    { scope: "page", group: "Everywhere", keys: ["g s"], name: "go-settings", words: "Go to settings" },
    { scope: "page", group: "Everywhere", keys: ["u"], name: "upload", words: "Upload files" },
    { scope: "page", group: "Everywhere", keys: ["z"], name: "undo", words: "Undo the last action" },
    { scope: "grid", group: "Gallery", keys: ["ArrowLeft", "h"], name: "left", words: "Picture to the left" },
    { scope: "grid", group: "Gallery", keys: ["ArrowRight", "l"], name: "right", words: "Picture to the right" },
    { scope: "grid", group: "Gallery", keys: ["ArrowUp", "k"], name: "up", words: "Row above" },
    { scope: "grid", group: "Gallery", keys: ["ArrowDown", "j"], name: "down", words: "Row below" },
    { scope: "grid", group: "Gallery", keys: ["Enter"], name: "open", words: "Open" },
    { scope: "grid", group: "Gallery", keys: ["[", "]"], name: "month", words: "Newer or older month" },
    { scope: "grid", group: "Gallery", keys: ["+", "-"], name: "density", words: "Larger or smaller pictures" },
    { scope: "grid", group: "Selecting", keys: ["x", " "], name: "select", words: "Select or let go" },
    { scope: "grid", group: "Selecting", keys: ["Shift+ArrowLeft", "Shift+ArrowRight", "Shift+ArrowUp", "Shift+ArrowDown"],
      name: "range", words: "Select up to here" },
    { scope: "grid", group: "Selecting", keys: ["Ctrl+a"], name: "all", words: "Select everything found" },
    { scope: "grid", group: "Selecting", keys: ["Escape"], name: "clear", words: "Select nothing" },
    { scope: "grid", group: "Acting on what is selected or focused", keys: ["t"], name: "tag", words: "Tag" },
    { scope: "grid", group: "Acting on what is selected or focused", keys: ["1", "2", "3", "4", "5", "0"],
      name: "rate", words: "Rate; 0 takes the rating away" },
    { scope: "grid", group: "Acting on what is selected or focused", keys: ["f"], name: "favourite", words: "Favourite; once more takes it away" },
    { scope: "grid", group: "Acting on what is selected or focused", keys: ["a"], name: "archive", words: "Archive" },
    { scope: "grid", group: "Acting on what is selected or focused", keys: ["Delete"], name: "trash", words: "To the trash" },
    { scope: "pair", group: "Duplicates", keys: ["1"], name: "keep-a", words: "Keep A, trash B" },
    { scope: "pair", group: "Duplicates", keys: ["2"], name: "keep-b", words: "Keep B, trash A" },
    { scope: "pair", group: "Duplicates", keys: ["s"], name: "stack", words: "Stack as versions" },
    { scope: "pair", group: "Duplicates", keys: ["k"], name: "different", words: "Not duplicates" },
    { scope: "pair", group: "Duplicates", keys: ["ArrowRight"], name: "skip", words: "Skip" },
    { scope: "pair", group: "Duplicates", keys: ["f", " "], name: "flip", words: "One over the other; again for the other one" },
    { scope: "viewer", group: "Viewer", keys: ["ArrowLeft"], name: "previous", words: "Previous" },
    { scope: "viewer", group: "Viewer", keys: ["ArrowRight"], name: "next", words: "Next" },
    { scope: "viewer", group: "Viewer", keys: ["Escape"], name: "close", words: "Back to the gallery" },
    { scope: "viewer", group: "Viewer", keys: ["i"], name: "panel", words: "Details" },
    { scope: "viewer", group: "Viewer", keys: ["Z"], name: "zoom", words: "Fit or full size" },
    { scope: "viewer", group: "Viewer", keys: ["x"], name: "select", words: "Select or let go" },
    { scope: "viewer", group: "Viewer", keys: ["t"], name: "tag", words: "Add a tag" },
    { scope: "viewer", group: "Viewer", keys: ["1", "2", "3", "4", "5", "0"], name: "rate", words: "Rate; 0 takes the rating away" },
    { scope: "viewer", group: "Viewer", keys: ["f"], name: "favourite", words: "Favourite" },
    { scope: "viewer", group: "Viewer", keys: ["a"], name: "archive", words: "Archive" },
    { scope: "viewer", group: "Viewer", keys: ["Delete"], name: "trash", words: "To the trash" },
    { scope: "viewer", group: "Viewer", keys: ["r", "R"], name: "rotate", words: "Turn right or left" },
    { scope: "viewer", group: "Viewer", keys: [",", "."], name: "frame", words: "One frame back or on" },
    { scope: "viewer", group: "Viewer", keys: ["m"], name: "mute", words: "Sound on or off" },
    { scope: "viewer", group: "Viewer", keys: ["o"], name: "original", words: "Open the original" },
    { scope: "viewer", group: "Viewer", keys: ["Enter"], name: "read", words: "Read the volume" },
    { scope: "reader", group: "Reader", keys: ["ArrowLeft", "h"], name: "leftward", words: "Page to the left" },
    { scope: "reader", group: "Reader", keys: ["ArrowRight", "l"], name: "rightward", words: "Page to the right" },
    { scope: "reader", group: "Reader", keys: [" "], name: "onward", words: "On; with Shift back" },
    { scope: "reader", group: "Reader", keys: ["Home"], name: "first", words: "First page" },
    { scope: "reader", group: "Reader", keys: ["End"], name: "last", words: "Last page" },
    { scope: "reader", group: "Reader", keys: ["1", "2"], name: "together", words: "One page or two" },
    { scope: "reader", group: "Reader", keys: ["d"], name: "way", words: "Turn the direction round" },
    { scope: "reader", group: "Reader", keys: ["v"], name: "fit", words: "Whole page, full width, real size" },
    { scope: "reader", group: "Reader", keys: ["f"], name: "full", words: "Full screen" },
    { scope: "reader", group: "Reader", keys: ["Escape"], name: "close", words: "Back to where one came from" },
  ];
  const SEQUENCE_MS = 1000;
  // A key that is held down repeats; these would flip to and fro.
  const ONCE = new Set(["sheet", "undo", "select", "tag", "favourite", "archive", "trash", "mute", "original", "panel", "rotate", "read", "way", "full", "fit", "keep-a", "keep-b", "stack", "different"]);
  const stack = [], bound = new Map();
  let led = "", ledAt = 0;

  const bind = (scope, actions) => {
    for (const name of Object.keys(actions)) {
      if (!TABLE.some((row) => row.scope === scope && row.name === name)) throw new Error(`no key for ${scope}.${name}`);
    }
    bound.set(scope, { ...bound.get(scope), ...actions });
  };
  const enter = (scope) => { if (!stack.includes(scope)) stack.push(scope); };
  const leave = (scope) => { const at = stack.lastIndexOf(scope); if (at >= 0) stack.splice(at, 1); };
  // Keys that write a character can be switched off (WCAG 2.1.4); arrows and Escape do what they always do.
  const off = (event) => event.key.length === 1 && !event.ctrlKey && !event.metaKey && /(?:^|; )keys=off(?:;|$)/.test(document.cookie);

  const typed = (event) => {
    const target = event.target;
    if (!target.matches) return false;
    if (target.matches("input[type=radio], [role=option], [role=slider]") && event.key.startsWith("Arrow")) return true;
    // Checkboxes do not take letters: keys must go on working after one was clicked.
    return target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
  };
  const spelled = (event) => {
    const shift = event.shiftKey && event.key.length > 1 ? "Shift+" : "";
    const key = event.key.length === 1 && !event.shiftKey ? event.key.toLowerCase() : event.key;
    return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${shift}${key}`;
  };
  const run = (event, key) => {
    for (const scope of [...stack].reverse().concat(stack.includes("page") ? [] : ["page"])) {
      const row = TABLE.find((each) => each.scope === scope && each.keys.includes(key));
      const action = row && bound.get(scope)?.[row.name];
      if (action && event.repeat && ONCE.has(row.name)) { event.preventDefault(); return true; }
      // An action that answers false did not want the key: the browser may have it.
      if (action && action(key, event) !== false) { event.preventDefault(); return true; }
    }
    return false;
  };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.isComposing || typed(event) || off(event)) return;
    // An open menu closes first.
    if (event.key === "Escape" && document.querySelector(":popover-open")) return;
    if (document.querySelector("dialog[open]") && !event.target.closest?.("dialog [data-keys]")) return;
    const key = spelled(event), now = performance.now();
    const sequence = led && now - ledAt < SEQUENCE_MS ? `${led} ${key}` : "";
    led = "";
    if (sequence && run(event, sequence)) return;
    if (run(event, key)) return;
    if (TABLE.some((row) => row.keys.some((each) => each.startsWith(`${key} `)))) { led = key; ledAt = now; }
  });

  const isBound = (row) => Boolean(bound.get(row.scope)?.[row.name]);
  return { TABLE, bind, enter, leave, isBound };
})();
