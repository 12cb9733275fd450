// What every page does: theme, one heartbeat for live parts, toasts.
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  // The server writes data-theme from the cookie, so the first paint is right; this changes it in place.
  document.addEventListener("click", (event) => {
    const choice = event.target.closest?.("[data-set-theme]");
    if (choice && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      const theme = choice.dataset.setTheme;
      if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
      document.cookie = `theme=${theme};path=/;max-age=31536000;samesite=lax`;
      choice.closest("[popover]")?.hidePopover();
    }
    event.target.closest?.("[data-dismiss]")?.closest(".toast")?.remove();
  });

  // Row targets depend on the window: the next page is cut for the width that this one had.
  const width = innerWidth < 700 ? "phone" : innerWidth < 1200 ? "tablet" : "wide";
  const drawn = document.body.dataset.view;
  if (drawn) document.cookie = `view=${width};path=/;max-age=31536000;samesite=lax`;
  if (drawn && drawn !== width && document.querySelector(".wall") && document.cookie.includes(`view=${width}`)
      && sessionStorage.getItem("cut") !== width) {
    sessionStorage.setItem("cut", width);
    location.reload();
  }

  // One clock for all live parts; it stands still while nobody looks, and ticks once on return.
  const say = (name) => document.body.dispatchEvent(new Event(name));
  let ticks = 0;
  setInterval(() => {
    if (document.hidden) return;
    say("tick");
    if (++ticks % 5 === 0) say("beat");
  }, 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { say("tick"); say("beat"); } });

  const toasts = document.getElementById("toasts");
  if (toasts) {
    new MutationObserver(() => {
      for (const toast of toasts.querySelectorAll("[data-fades]:not([data-timed])")) {
        toast.dataset.timed = "";
        // Whoever is reading it or about to press its button keeps it.
        const fade = () => { if (toast.matches(":focus-within, :hover")) setTimeout(fade, 2000); else toast.remove(); };
        setTimeout(fade, 8000);
      }
    }).observe(toasts, { childList: true });
  }
})();
