// The review of duplicates: its keys, three ways to look at a pair, and the way back to a decided one.
(() => {
  // What was dealt with leaves its list.
  document.body.addEventListener("htmx:after:request", ({ detail }) => {
    const form = detail.ctx.sourceElement, status = detail.ctx.response?.status ?? 500;
    if (form?.dataset?.leaves && status < 400) document.getElementById(form.dataset.leaves)?.remove();
  });

  const review = () => document.getElementById("review");
  if (!review()) return;
  // Which pair a decision was about, so that its undo can lead there.
  const pairs = new Map();
  let look = "side";

  const press = (name) => {
    const act = review().querySelector(`[data-act="${name}"]`);
    if (!act) return false;
    if (act.matches("form")) act.requestSubmit(); else act.click();
    return true;
  };
  const show = () => {
    const over = review().querySelector(".over");
    if (!over) return;
    over.hidden = look === "side";
    over.classList.toggle("difference", look === "difference");
    review().querySelector(".pair").classList.toggle("stacked", look !== "side");
    const choice = review().querySelector(`.looks input[value="${look}"]`);
    if (choice) choice.checked = true;
  };
  const flip = () => {
    const over = review().querySelector(".over");
    if (!over) return false;
    if (look !== "flip") { look = "flip"; show(); return true; }
    const second = over.classList.toggle("second");
    over.querySelector("[data-letter]").textContent = second ? "B" : "A";
    return true;
  };

  document.addEventListener("change", (event) => {
    if (!event.target.matches?.(".looks input")) return;
    look = event.target.value;
    show();
  });
  document.addEventListener("click", (event) => { if (event.target.closest?.(".over")) flip(); });

  const settled = () => {
    const [operation, pair] = (review().dataset.decided ?? "").split(":");
    if (pair) pairs.set(operation, pair);
    show();
  };
  new MutationObserver(settled).observe(document.getElementById("main"), { childList: true, subtree: true });

  document.body.addEventListener("operation:done", ({ detail }) => {
    const undone = document.getElementById(`operation-line-${detail.id}`)?.dataset.undoes;
    const pair = pairs.get(undone);
    if (pair) htmx.ajax("GET", `/duplicates?pair=${pair}`, { target: "#review", swap: "outerHTML" });
  });

  Keys.enter("pair");
  Keys.bind("pair", {
    "keep-a": () => press("keep-a"),
    "keep-b": () => press("keep-b"),
    stack: () => press("alternate"),
    different: () => press("different"),
    skip: () => press("skip"),
    flip,
  });
})();
