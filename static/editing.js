// Changing one asset: keys, marks that answer at once, tags by name.
(() => {
  const pressed = (selector) => document.querySelector(`#asset-marks ${selector}`);
  const press = (selector) => {
    const button = pressed(selector);
    if (!button) return false;
    button.click();
    return true;
  };
  const rate = (key) => {
    if (key !== "0") return pressed(`[data-star="${key}"].on[value="0"]`) ? true : press(`[data-star="${key}"]`);
    return press('[data-star][value="0"]') || Boolean(pressed("[data-star]"));
  };
  Keys.bind("viewer", {
    rate,
    favourite: () => press('[name="favourite"]'),
    archive: () => press('[data-mark="archive"]'),
    trash: () => press('[data-mark="trash"]'),
    rotate: (key) => press(`[data-mark="${key === "R" ? "left" : "right"}"]`),
    tag: () => {
      const field = document.getElementById("tag-name");
      field?.focus();
      field?.scrollIntoView({ block: "nearest" });
      return Boolean(field);
    },
  });

  // Stars and heart answer before the server does; its answer replaces them either way.
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!button || !event.target.matches("[data-marks]")) return;
    if (button.name === "rating") {
      for (const star of event.target.querySelectorAll("[data-star]")) {
        star.classList.toggle("on", Number(star.dataset.star) <= Number(button.value));
      }
    } else if (button.name === "favourite") {
      button.setAttribute("aria-pressed", String(button.value === "1"));
      button.querySelector(".i")?.classList.toggle("i-fill", button.value === "1");
    }
  }, true);

  // A known tag goes by its id; "create" is the form without one, and the server asks for the kind.
  document.addEventListener("combo:choose", (event) => {
    const form = event.target.closest("[data-adds-tag]");
    if (!form || event.target.name !== "name") return;
    event.preventDefault();
    const { id, name } = event.detail;
    if (!id) { form.requestSubmit(); return; }
    event.target.value = name;
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "tag", value: id });
    form.append(field);
    form.requestSubmit();
  });

  // The picture, or the viewer over the gallery, draws itself anew; what is half written beside it stays.
  const turned = (id) => {
    // Three quarters are three presses: the line of the last stands for them, and each is in the history.
    for (const line of [...document.querySelectorAll('#toasts [data-kind="turn"]')].slice(0, -1)) line.remove();
    document.body.dispatchEvent(new CustomEvent("asset:turned", { detail: { id } }));
  };

  // Whoever types faster than the server answers keeps what was typed, and an Enter in between counts.
  const named = () => document.getElementById("tag-name");
  // Other parts of the page are asked for and swapped meanwhile.
  const tagged = ({ detail }) => /\/asset\/\d+\/tags/.test(detail?.ctx?.request?.action);
  let typing = false, sent = null, ahead = "", again = false;
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-adds-tag]") || !event.target.contains(named())) return;
    if (sent === null) sent = named().value; else again = true;
  }, true);
  document.body.addEventListener("htmx:before:swap", () => {
    typing = Boolean(document.activeElement?.closest?.("[data-adds-tag]"));
    ahead = sent !== null && named() && named().value !== sent ? named().value : "";
  });
  document.body.addEventListener("htmx:finally:request", (event) => { if (tagged(event)) { sent = null; again = false; } });
  document.body.addEventListener("htmx:after:swap", (event) => {
    // The next tag can be typed without reaching for the mouse.
    if (typing && !document.activeElement?.closest?.("[data-adds-tag]")) {
      (document.getElementById("tag-kind") || named())?.focus();
    }
    typing = false;
    const field = named(), more = again;
    if (tagged(event)) { sent = null; again = false; }
    if (ahead && field && !field.value) {
      field.value = ahead;
      if (more) setTimeout(() => field.form?.requestSubmit());
      else field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    ahead = "";
    const marks = document.querySelector("#asset-marks[data-turned]");
    if (!marks) return;
    marks.removeAttribute("data-turned");
    turned(Number(marks.dataset.asset));
  });
  // What an undo gave back is shown where it was.
  document.body.addEventListener("operation:done", ({ detail }) => {
    if (!detail?.undoes) return;
    document.body.dispatchEvent(new CustomEvent("asset:changed"));
    // Only then: nobody loses what is half written there to the undo of something else.
    if (["title", "note"].includes(detail.undoes)) document.body.dispatchEvent(new CustomEvent("asset:reworded"));
    const id = Number(document.getElementById("asset-marks")?.dataset.asset);
    if (detail.undoes === "turn" && detail.ids?.includes(id)) turned(id);
  });
})();
