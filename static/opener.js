// The viewer is fetched when the first picture is opened; until it is there, or where it fails, the page of the asset opens.
(() => {
  const query = () => new URLSearchParams(location.search).get("q") ?? "";
  let viewer = null, opening = false;
  // On a slow line the viewer takes a while: the keys are meant for it by then, not for the gallery under it.
  const wait = (on) => { opening = on; document.documentElement.classList.toggle("opening", on); };
  addEventListener("keydown", (event) => {
    if (!opening || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, { capture: true });
  const fetched = async () => {
    const answer = await fetch("/asset/viewer", { headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
    if (!answer.ok || answer.headers.get("HX-Redirect")) throw new Error(`viewer: ${answer.status}`);
    const holder = document.createElement("template");
    holder.innerHTML = await answer.text();
    const root = holder.content.querySelector("#viewer"), style = root.querySelector("link");
    const styled = new Promise((done, failed) => { style.onload = done; style.onerror = failed; });
    document.body.append(root);
    const script = document.createElement("script");
    script.src = root.dataset.script;
    const scripted = new Promise((done, failed) => { script.onload = done; script.onerror = failed; });
    document.head.append(script);
    const [photoswipe] = await Promise.all([import(root.dataset.photoswipe), styled, scripted]);
    return Viewer(root, photoswipe.default);
  };
  const open = async (id, options) => {
    wait(true);
    try {
      viewer ??= fetched();
      await (await viewer).open(id, { q: query(), ...options });
    } catch (error) {
      viewer = null;
      document.getElementById("viewer")?.remove();
      location.href = `/asset/${id}${location.search.includes("q=") ? `?q=${encodeURIComponent(query())}` : ""}`;
    } finally {
      wait(false);
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".tile > a");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(Number(link.id.slice(1)), {});
  });
  // Forward again to a picture that was closed with Back.
  addEventListener("popstate", (event) => {
    if (event.state?.viewer && document.getElementById("viewer")?.hidden !== false) {
      open(event.state.viewer, { q: event.state.q ?? "", again: true });
    }
  });
})();
