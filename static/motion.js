// The film of a still: over its picture while it plays, and gone when it ends.
const Motion = (() => {
  let layer = null, from = null;

  const stop = () => {
    if (!layer) return;
    if (layer.dataset.film) Film.stop(layer);
    layer.querySelector("video")?.pause();
    layer.remove();
    layer = from = null;
  };
  const begin = (video) => {
    video.addEventListener("ended", stop);
    video.play().catch(() => { /* the browser waits for the person, and its controls are there */ });
  };
  const play = (link, stage) => {
    stop();
    layer = document.createElement("div");
    layer.className = "film motion";
    from = link;
    stage.append(layer);
    if (link.dataset.played === "wish") {
      layer.dataset.film = link.dataset.motion;
      Film.start(layer);
      const video = layer.querySelector("video");
      video.addEventListener("loadeddata", () => begin(video), { once: true });
      return;
    }
    const video = document.createElement("video");
    Object.assign(video, { src: link.href, controls: true, playsInline: true, className: "shown" });
    layer.append(video);
    begin(video);
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-motion]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const stage = link.closest(".over-stage")?.querySelector("[data-pictures]") ?? document.getElementById("main");
    if (layer && from === link) stop(); else play(link, stage);
  });
  return { stop };
})();
