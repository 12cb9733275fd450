// Kinds that have a fandom show its field; dialogs open over the page that also works without them.
(() => {
  const fandoms = (root) => {
    for (const select of root.querySelectorAll?.("[data-kind]") ?? []) {
      const field = select.closest("form")?.querySelector("[data-fandom]");
      if (field) field.hidden = !["character", "series"].includes(select.value);
    }
  };
  document.addEventListener("change", (event) => {
    if (event.target.matches?.("[data-kind]")) fandoms(event.target.closest("form"));
  });
  document.body.addEventListener("htmx:after:swap", () => fandoms(document));
  fandoms(document);

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const opens = event.target.closest?.("[data-dialog]"), closes = event.target.closest?.("dialog [data-close]");
    const dialog = opens ? document.getElementById(opens.dataset.dialog) : closes?.closest("dialog");
    if (!dialog) return;
    event.preventDefault();
    if (opens) dialog.showModal(); else dialog.close();
  });
})();
