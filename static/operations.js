// Bulk actions on any page: their lines at the lower edge, what they tell the page, and the undo key.
const Operations = (() => {
  const toasts = document.getElementById("toasts");
  if (!toasts) return null;

  const line = (text) => {
    const made = document.createElement("div"), close = document.createElement("button");
    made.className = "toast bad";
    made.textContent = text;
    close.className = "link";
    close.type = "button";
    close.dataset.dismiss = "";
    close.textContent = "Dismiss";
    made.append(close);
    toasts.append(made);
  };
  const show = (text) => {
    const holder = document.createElement("template");
    holder.innerHTML = text;
    const added = [...holder.content.children];
    toasts.append(...added);
    added.forEach((one) => htmx.process(one));
  };
  const post = async (url, fields) => {
    let answer;
    try {
      answer = await fetch(url, { method: "POST", body: new URLSearchParams(fields),
        headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
    } catch {
      line("Nothing was changed: the server did not answer.");
      return { ok: false, status: 0, text: "" };
    }
    const away = answer.headers.get("HX-Redirect");
    if (away) location.href = away;
    const text = await answer.text();
    if (answer.headers.get("HX-Retarget") === "#toasts") show(text);
    return { ok: answer.ok, status: answer.status, text };
  };

  // What was done is said once to the whole page, whoever asked for it.
  const tell = () => {
    for (const toast of toasts.querySelectorAll("[data-done]")) {
      const detail = JSON.parse(toast.dataset.done);
      delete toast.dataset.done;
      document.body.dispatchEvent(new CustomEvent("operation:done", { detail }));
    }
  };
  // One line for each action: a newer one about it stands in its place, and so does that of its undo.
  const replace = () => {
    for (const { dataset } of toasts.querySelectorAll("[data-undoes]")) document.getElementById(`operation-line-${dataset.undoes}`)?.remove();
    const said = new Set();
    for (const toast of [...toasts.querySelectorAll(".toast[id]")].reverse()) {
      if (said.has(toast.id)) toast.remove();
      said.add(toast.id);
    }
  };
  new MutationObserver(() => { replace(); tell(); }).observe(toasts, { childList: true });

  // What was said on a page that emptied itself.
  const said = sessionStorage.getItem("toasts");
  sessionStorage.removeItem("toasts");
  if (said) {
    show(said);
    for (const toast of toasts.querySelectorAll("[data-done], [data-timed]")) {
      delete toast.dataset.done;
      delete toast.dataset.timed;
    }
  }

  // Pressed twice it takes two things back, one after the other; viewers have nothing to take back.
  let undone = Promise.resolve();
  const undo = () => post("/operations/undo", {});
  if (document.querySelector('.rail a[href="/history"]')) {
    Keys.bind("page", { undo: () => { undone = undone.then(undo, undo); } });
  }
  return { post, show, line };
})();
