// The stage: keys for stepping and closing, and the pictures beside this one fetched early.
(() => {
  const link = (name) => document.querySelector(`[data-key="${name}"]`);

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

  // The viewer over the gallery gives its pictures addresses. After a reload such an address is this page, and
  // to the browser still the same document as the gallery before it: Back would change nothing but the address.
  const own = location.pathname;
  addEventListener("popstate", () => { if (location.pathname !== own) location.reload(); });

  const follow = (name) => () => {
    const target = link(name);
    target?.click();
    return Boolean(target);
  };
  const video = () => document.querySelector("#picture video:not([hidden])");
  Keys.enter("viewer");
  Keys.bind("viewer", {
    previous: follow("previous"),
    next: follow("next"),
    close: follow("back"),
    original: follow("original"),
    read: () => {
      const reads = document.querySelector("[data-reads]");
      reads?.click();
      return Boolean(reads);
    },
    mute: () => { const film = video(); if (!film) return false; film.muted = !film.muted; return true; },
    frame: (key) => {
      const film = video();
      if (!film) return false;
      film.pause();
      film.currentTime = Math.max(0, film.currentTime + (key === "," ? -1 : 1) / 25);
      return true;
    },
  });

  // The pictures beside this one, once this one is sharp: asking earlier would put theirs before it.
  const early = () => {
    if (document.querySelector("#picture[data-waits]")) return;
    for (const step of document.querySelectorAll("[data-next]")) new Image().src = step.dataset.next;
  };
  addEventListener("load", early);
  document.body.addEventListener("htmx:after:swap", early);
})();
