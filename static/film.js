// Videos that browsers cannot play as they are: wished for while they are looked at, watched as soon as enough is there.
const Film = (() => {
  const EVERY = 1500, running = new WeakMap();

  const drawn = (holder) => {
    let video = holder.querySelector(":scope > video");
    if (!video) {
      video = document.createElement("video");
      Object.assign(video, { controls: true, playsInline: true, preload: "auto", className: "shown", hidden: true });
      if (holder.dataset.width) Object.assign(video, { width: Number(holder.dataset.width), height: Number(holder.dataset.height) });
      if (holder.dataset.poster) video.poster = holder.dataset.poster;
      const says = document.createElement("p");
      says.className = "film-says small";
      says.setAttribute("role", "status");
      holder.append(video, says);
    }
    return { video, says: holder.querySelector(".film-says") };
  };
  const failure = (says, told, again) => {
    says.textContent = `${told.words} `;
    if (told.code) {
      const code = document.createElement("code");
      code.textContent = told.code;
      says.append(code, " ");
    }
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "link", textContent: "Try again" });
    button.addEventListener("click", again, { once: true });
    says.append(button);
  };

  const start = (holder) => {
    if (running.has(holder)) return;
    const id = holder.dataset.film, { video, says } = drawn(holder);
    const job = { over: false, timer: 0, streaming: false, refused: false };
    running.set(holder, job);

    const show = (whole) => {
      const at = video.currentTime, playing = !video.paused && job.streaming;
      // The address differs, or the browser would go on with the part that it has.
      video.src = `/media/${id}/play${whole ? "?whole=1" : ""}`;
      if (at) video.addEventListener("loadedmetadata", () => { video.currentTime = at; if (playing) video.play(); }, { once: true });
      video.hidden = false;
      job.streaming = !whole;
      says.hidden = whole;
    };
    // A film that grows cannot be searched through; the finished one takes its place when nobody is in the middle of it.
    const finish = () => {
      job.over = true;
      says.hidden = true;
      if (!job.streaming) { show(true); return; }
      const swap = () => { if (job.streaming) show(true); };
      if (video.paused || video.error) swap();
      else for (const kind of ["pause", "seeking", "ended", "error"]) video.addEventListener(kind, swap, { once: true });
    };
    const ask = async (again) => {
      if (job.over) return;
      try {
        const answer = await fetch(`/asset/${id}/play${again ? "?again=1" : ""}`, { method: "POST" });
        if (!answer.ok) throw new Error(String(answer.status));
        const told = await answer.json();
        if (job.over || running.get(holder) !== job) return;
        says.hidden = false;
        if (told.state === "failed") { failure(says, told, () => ask(true)); return; }
        says.textContent = told.words;
        if (told.state === "ready") { finish(); return; }
        if (told.watch && !job.streaming && !job.refused) show(false);
      } catch { says.textContent = "Vitrine does not answer; trying again"; }
      job.timer = setTimeout(ask, EVERY);
    };
    // Some browsers want parts of a file and cannot play one that grows: they wait for the whole.
    video.addEventListener("error", () => {
      if (job.over || !job.streaming) return;
      job.streaming = false;
      job.refused = true;
      video.hidden = true;
    });
    ask();
  };
  const leave = (holder) => {
    const job = running.get(holder);
    if (!job) return;
    clearTimeout(job.timer);
    if (!job.over) navigator.sendBeacon(`/asset/${holder.dataset.film}/play/leave`);
    job.over = true;
  };
  const stop = (holder) => {
    leave(holder);
    if (!running.delete(holder)) return;
    const { video, says } = drawn(holder);
    // Without this the browser keeps the connection, and with it the wish.
    video.removeAttribute("src");
    video.load();
    video.hidden = true;
    says.textContent = "";
  };
  const all = () => document.querySelectorAll("body.viewer [data-film]");
  addEventListener("pagehide", () => { for (const holder of document.querySelectorAll("[data-film]")) leave(holder); });
  addEventListener("pageshow", (event) => {
    if (event.persisted) for (const holder of all()) { running.delete(holder); start(holder); }
  });
  for (const holder of all()) start(holder);
  return { start, stop };
})();
