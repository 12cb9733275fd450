// After anything that changes imports, the live parts of the page look again at once.
(() => {
  document.body?.addEventListener("htmx:after:request", (event) => {
    const source = event.target.closest?.("form[hx-post]");
    if (!source || source.id === "add-folder") return;
    const status = event.detail?.ctx?.response?.status ?? 200;
    if (status < 400) document.getElementById(source.dataset.leaves ?? "")?.remove();
    document.body.dispatchEvent(new Event("beat"));
  });
})();
