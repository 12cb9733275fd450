// The dialogs of a selection: tags with their shares, dates, and deleting for good.
(() => {
  const { target, payload, perform, act, number } = Picks, { post } = Operations;
  const fill = async (dialog, url) => {
    const aim = await target();
    if (!aim) return;
    const answer = await post(url, { selection: payload(aim.chosen) });
    if (!answer.ok) return;
    const body = dialog.querySelector("[data-body]");
    body.innerHTML = answer.text;
    for (const box of body.querySelectorAll('[data-was="some"]')) box.indeterminate = true;
    dialog.showModal();
    body.querySelector("[autofocus]")?.focus();
  };
  const tags = () => { fill(document.getElementById("sel-tags"), "/selection/tags"); };
  const purge = () => { fill(document.getElementById("sel-purge"), "/selection/purge"); };
  const date = async () => {
    const aim = await target(), dialog = document.getElementById("sel-date");
    if (!aim) return;
    dialog.querySelector("form").reset();
    dialog.querySelector("[data-selected]").textContent = aim.count === 1 ? "one picture" : `${number.format(aim.count)} pictures`;
    dialog.showModal();
  };
  const halves = (form) => {
    const on = [...form.querySelectorAll("[name=on]")].filter((box) => box.type !== "checkbox" || box.checked).map((box) => box.value);
    const off = [];
    for (const box of form.querySelectorAll("[data-tag]")) {
      if (box.indeterminate || box.checked === (box.dataset.was === "all")) continue;
      (box.checked ? on : off).push(`#${box.dataset.tag}`);
    }
    // Ticked and unticked again: it was on some, and now shall be on none.
    for (const box of form.querySelectorAll('[data-was="some"]')) if (!box.indeterminate && !box.checked) off.push(`#${box.dataset.tag}`);
    return { on: on.join(";"), off: off.join(";") };
  };
  const submit = async (form) => {
    const dialog = form.closest("dialog"), kind = form.dataset.operation;
    const button = form.querySelector("[type=submit]");
    button.setAttribute("aria-busy", "true");
    const fields = kind === "tags" ? halves(form) : Object.fromEntries(new FormData(form));
    if (form.dataset.expect) fields.expect = form.dataset.expect;
    const done = kind === "tags" ? await perform("/operations/tags", fields) : await act(kind, fields);
    button.removeAttribute("aria-busy");
    if (done) dialog.close();
  };
  const typing = async (field) => {
    const list = document.getElementById("tag-known");
    const answer = await fetch(`/selection/names?text=${encodeURIComponent(field.value)}`, { headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
    if (answer.ok && list.isConnected) list.innerHTML = await answer.text();
  };

  document.addEventListener("click", (event) => { event.target.closest?.("[data-close]")?.closest("dialog").close(); });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-operation]")) return;
    event.preventDefault();
    submit(event.target);
  });
  let typed = 0;
  document.addEventListener("input", (event) => {
    if (event.target.id !== "tag-names") return;
    clearTimeout(typed);
    typed = setTimeout(typing, 120, event.target);
  });
  Object.assign(Picks.dialogs, { tags, purge, date });
})();
