// The stage: keys for stepping and closing, and the pictures beside this one fetched early.
(() => {
  const link = (name) => document.querySelector(`[data-key="${name}"]`);
  const keys = { ArrowLeft: "previous", ArrowRight: "next", Escape: "back", o: "original" };

  // Closing goes back where the person came from, when that was the gallery; else to this picture's place there.
  const back = (event) => {
    if (!document.referrer || new URL(document.referrer).origin !== location.origin) return;
    if (sessionStorage.getItem("steps") === null) return;
    const steps = Number(sessionStorage.getItem("steps"));
    if (steps === 0 && new URL(document.referrer).pathname === "/") {
      event.preventDefault();
      history.back();
    }
  };
  if (document.referrer && new URL(document.referrer).pathname === "/") sessionStorage.setItem("steps", "0");
  link("back")?.addEventListener("click", back);
  for (const name of ["previous", "next"]) {
    link(name)?.addEventListener("click", () => sessionStorage.setItem("steps", "1"));
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.defaultPrevented) return;
    if (event.target.matches?.("input:not([type=checkbox]), textarea, select, video, [contenteditable]")) return;
    const target = keys[event.key] && link(keys[event.key]);
    if (!target) return;
    event.preventDefault();
    target.click();
  });

  // The pictures beside this one, once this one is sharp: asking earlier would put theirs before it.
  const early = () => {
    if (document.querySelector("#picture[hx-get]")) return;
    for (const step of document.querySelectorAll("[data-next]")) new Image().src = step.dataset.next;
  };
  addEventListener("load", early);
  document.body.addEventListener("htmx:after:swap", early);
})();
