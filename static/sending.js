// Ways in for files: drop, paste, choose, the key. The sender itself is fetched when the first file comes.
(() => {
  if (isSecureContext && navigator.serviceWorker) navigator.serviceWorker.register("/sw.js").catch(() => {});
  for (const line of document.querySelectorAll("[data-install-secure]")) line.hidden = !isSecureContext;
  for (const line of document.querySelectorAll("[data-install-plain]")) line.hidden = isSecureContext;
  const parts = document.querySelector("[data-upload-parts]");
  if (!parts) return;

  let coming = null;
  const sender = () => coming ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = parts.dataset.uploadParts;
    script.onload = done;
    script.onerror = () => { script.remove(); coming = null; fail(new Error("not loaded")); };
    document.head.append(script);
  });
  const add = async (files) => {
    if (!files.length) return;
    try { await sender(); } catch {
      const line = document.createElement("div");
      line.className = "toast bad";
      line.textContent = "Vitrine does not answer, so nothing was sent. Try again in a moment.";
      document.getElementById("toasts")?.append(line);
      setTimeout(() => line.remove(), 8000);
      return;
    }
    Uploads.add(files);
  };

  // What was shared with the app while nobody was signed in, or nothing answered.
  // It stays where it is when the sender cannot be fetched: the next page looks again.
  if (isSecureContext && window.caches) caches.open("vitrine-shared").then((cache) => cache.keys())
    .then((laid) => laid.length && sender().then(() => Uploads.shared())).catch(() => {});

  const hidden = (path) => path.split("/").some((part) => part.startsWith(".")) || /(^|\/)(Thumbs\.db|desktop\.ini)$/.test(path);
  const walk = async (entry, found) => {
    if (entry.isFile) {
      const file = await new Promise((ok, no) => entry.file(ok, no)).catch(() => null);
      if (file) found.push([file, entry.fullPath.replace(/^\//, "")]);
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((ok) => reader.readEntries(ok, () => ok([])));
      if (!some.length) return;
      for (const each of some) if (!hidden(each.name)) await walk(each, found);
    }
  };
  const dropped = async (data) => {
    // Entries are gone after the event, so they are taken before the first wait.
    const entries = [...data.items].filter((each) => each.kind === "file").map((each) => each.webkitGetAsEntry?.());
    if (!entries.length || entries.includes(null) || entries.includes(undefined)) return add([...data.files].map((file) => [file, file.name]));
    for (const entry of entries) { const found = []; await walk(entry, found); add(found); }
  };
  const veil = parts.content.querySelector(".veil").cloneNode(true);
  document.body.append(veil);
  let own = false, depth = 0;
  const brings = (event) => !own && event.dataTransfer?.types.includes("Files");
  addEventListener("dragstart", () => { own = true; });
  addEventListener("dragend", () => { own = false; });
  addEventListener("dragenter", (event) => { if (brings(event)) { event.preventDefault(); depth++; veil.hidden = false; } });
  addEventListener("dragleave", (event) => { if (brings(event) && --depth <= 0) { depth = 0; veil.hidden = true; } });
  addEventListener("dragover", (event) => { if (brings(event)) { event.preventDefault(); event.dataTransfer.dropEffect = "copy"; } });
  addEventListener("drop", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    dropped(event.dataTransfer);
  });
  addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files || [])];
    if (!files.length || event.target.closest?.("input, textarea, [contenteditable]")) return;
    event.preventDefault();
    add(files.map((file) => [file, file.name]));
  });
  const chosen = (input) => {
    add([...input.files].map((file) => [file, file.webkitRelativePath || file.name]).filter(([, name]) => !name.includes("/") || !hidden(name)));
    input.value = "";
  };
  const choose = () => {
    const input = document.createElement("input");
    Object.assign(input, { type: "file", multiple: true, accept: "image/*,video/*,.cbz,.zip" });
    input.addEventListener("change", () => chosen(input));
    input.click();
  };
  document.addEventListener("change", (event) => { if (event.target.matches?.("[data-upload-files]")) chosen(event.target); });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-upload-pick]") && !event.ctrlKey && !event.metaKey) { event.preventDefault(); choose(); }
  });
  Keys.bind("page", { upload: choose });
})();
