// Sending files: three at once, in pieces that are resumed; a dock at the lower edge says what became of each.
// It is fetched when somebody sends for the first time (sending.js), so that looking at pictures costs nothing.
const Uploads = ((parts) => {
  const AT_ONCE = 3, PIECE = 32 << 20, STALL = 60000, ROWS = 60, DAY = 864e5;
  const TUS = { "Tus-Resumable": "1.0.0" };
  const waiting = [], items = [], reading = new Map(), sessions = new Set();
  let active = 0, session = null, opened = null, dock = null, page = "";
  const wakers = new Set();
  const b64 = (text) => btoa(Array.from(new TextEncoder().encode(text), (b) => String.fromCharCode(b)).join(""));
  const count = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
  const size = (n) => {
    for (const unit of ["bytes", "kB", "MB", "GB"]) {
      if (n < 1000 || unit === "GB") return unit === "bytes" ? `${n} bytes` : `${n.toFixed(1)} ${unit}`;
      n /= 1000;
    }
  };
  const lasts = (s) => s < 60 ? `${Math.ceil(s)} s` : s < 3600 ? `${Math.ceil(s / 60)} min` : `${Math.floor(s / 3600)} h ${Math.ceil(s % 3600 / 60)} min`;

  // What was begun before a reload is found again when the same file is chosen again.
  const memory = {
    key: (item) => `upload:${item.name}|${item.file.size}|${item.file.lastModified}`,
    get(item) {
      try {
        const kept = JSON.parse(localStorage.getItem(this.key(item)));
        return kept && Date.now() - kept.at < DAY ? kept : null;
      } catch { return null; }
    },
    set(item) {
      try { localStorage.setItem(this.key(item), JSON.stringify({ url: item.url, batch: item.batch, at: Date.now() })); } catch { /* full or forbidden */ }
    },
    drop(item) { try { localStorage.removeItem(this.key(item)); } catch { /* forbidden */ } },
  };

  class Refused extends Error {
    constructor(status, text) { super(text); this.status = status; }
    // Silence, a lock, a wrong offset and a server that rests pass; everything else would only repeat itself.
    get passes() { return [0, 408, 409, 423, 429, 502, 503, 504].includes(this.status) || (this.status >= 500 && this.status !== 507); }
  }
  const ask = async (method, url, headers = {}) => {
    let answer;
    try { answer = await fetch(url, { method, headers: { ...TUS, ...headers } }); } catch { throw new Refused(0, "No connection"); }
    if (!answer.ok) throw new Refused(answer.status, (await answer.text()).slice(0, 300));
    return answer;
  };
  const openSession = (item) => opened ??= ask("POST", `/uploads/batch${item.shared ? "?by=share" : ""}`).then((a) => a.json()).then((made) => {
    session = made.batch; page = made.page; sessions.add(made.batch);
    return made.batch;
  }).catch((error) => { opened = null; throw error; });

  const create = async (item) => {
    item.batch = await openSession(item);
    const said = { filename: item.name, batch: String(item.batch), lastModified: String(item.file.lastModified || "") };
    const metadata = Object.entries(said).map(([k, v]) => `${k} ${b64(v)}`).join(",");
    const answer = await ask("POST", "/uploads", { "Upload-Length": String(item.file.size), "Upload-Metadata": metadata });
    item.url = answer.headers.get("Location");
    memory.set(item);
    return 0;
  };
  const offset = async (item) => {
    try {
      return Number((await ask("HEAD", item.url)).headers.get("Upload-Offset"));
    } catch (error) {
      if (error.status !== 404 && error.status !== 410) throw error;
      memory.drop(item);
      return create(item);
    }
  };
  const piece = (item, from) => new Promise((done, fail) => {
    const request = item.request = new XMLHttpRequest();
    let stall = 0;
    const watch = () => { clearTimeout(stall); stall = setTimeout(() => request.abort(), STALL); };
    const broke = () => { clearTimeout(stall); fail(new Refused(0, "No connection")); };
    request.open("PATCH", item.url);
    for (const [name, value] of Object.entries({ ...TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": from })) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => { watch(); item.sent = from + event.loaded; item.tries = 0; };
    request.onload = () => {
      clearTimeout(stall);
      if (request.status === 204) done(Number(request.getResponseHeader("Upload-Offset")));
      else fail(new Refused(request.status, request.responseText.slice(0, 300)));
    };
    request.onerror = request.onabort = broke;
    watch();
    request.send(item.file.slice(from, from + PIECE));
  });
  const readable = (item) => item.file.slice(0, 1).arrayBuffer().then(() => true, () => false);
  const pause = (item) => new Promise((go) => {
    const wait = Math.min(30, 2 ** item.tries++) * (0.75 + Math.random() / 2) * 1000;
    const wake = () => { clearTimeout(timer); wakers.delete(wake); go(); };
    const timer = setTimeout(wake, navigator.onLine ? wait : 60000);
    wakers.add(wake);
  });
  addEventListener("online", () => { for (const wake of [...wakers]) wake(); });

  const send = async (item) => {
    const kept = item.url ? null : memory.get(item);
    if (kept) { item.url = kept.url; item.batch = kept.batch; sessions.add(kept.batch); }
    let here = item.url ? null : await create(item);
    while (here === null || here < item.file.size) {
      here ??= await offset(item);
      if (here < item.file.size) here = await piece(item, item.sent = here);
    }
    item.sent = item.file.size;
  };
  const run = async (item) => {
    item.state = "sending";
    draw(item);
    for (;;) {
      try { await send(item); break; } catch (error) {
        if (item.state === "cancelled") return;
        if (!(error instanceof Refused) || !error.passes) return refuse(item, error.message, error.status);
        if (error.status === 0 && !(await readable(item))) return refuse(item, "The file cannot be read any more");
        item.note = navigator.onLine ? "Trying again" : "Waits for a connection";
        await pause(item);
        if (item.state === "cancelled") return;
        item.note = "";
      }
    }
    memory.drop(item);
    item.ended?.(true);
    item.state = "reading";
    reading.set(item.url.split("/").pop(), item);
  };
  const refuse = (item, text, status) => {
    item.state = "failed";
    item.note = text || "Could not be sent";
    // Too large is too large at the next start of the app as well; anything else may have passed by then.
    item.ended?.(status === 413);
  };
  const pump = () => {
    while (active < AT_ONCE && waiting.length) {
      const item = waiting.shift();
      if (item.state !== "waiting") continue;
      active++;
      run(item).finally(() => { active--; draw(item); pump(); });
    }
    if (!active && !waiting.length) seal();
  };
  const seal = () => {
    for (const batch of sessions) ask("POST", `/uploads/batch/${batch}/done`).catch(() => {});
    sessions.clear();
    session = opened = null;
  };

  const add = (files) => {
    if (!files.length) return;
    if (!dock) raise();
    for (const [file, name, ended] of files) {
      const item = { file, name, ended, shared: Boolean(ended), state: "waiting", sent: 0, tries: 0, note: "", url: "", batch: 0 };
      items.push(item);
      waiting.push(item);
    }
    clock ??= setInterval(tick, 500);
    pump();
    tick();
  };
  const cancel = (item) => {
    if (!["waiting", "sending", "failed"].includes(item.state)) return;
    item.state = "cancelled";
    item.note = "";
    item.request?.abort();
    for (const wake of [...wakers]) wake();
    memory.drop(item);
    item.ended?.(true);
    if (item.url) ask("DELETE", item.url).catch(() => {});
    draw(item);
  };
  const again = (item) => { item.state = "waiting"; item.note = ""; item.tries = 0; waiting.push(item); pump(); tick(); };

  // What other apps shared: laid down by the service worker, let go file by file when the server has it.
  // One window sends at a time; a second one waits, and finds what came in between.
  const shared = () => navigator.locks.request("shared", async () => {
    const cache = await caches.open("vitrine-shared"), files = [], all = [];
    for (const key of await cache.keys()) {
      const laid = await cache.match(key), told = laid.headers;
      if (Date.now() - Number(new URL(key.url).pathname.match(/\d+/)) > 7 * DAY) { await cache.delete(key); continue; }
      const file = new File([await laid.blob()], decodeURIComponent(told.get("X-Name")), { type: told.get("Content-Type"), lastModified: Number(told.get("X-Modified")) });
      all.push(new Promise((done) => {
        files.push([file, file.name, async (over) => { if (over) await cache.delete(key); done(); }]);
      }));
    }
    add(files);
    await Promise.all(all);
  });

  // What became of them: the server says it in its own words.
  const poll = async () => {
    const tokens = [...reading.keys()].slice(0, 50);
    if (!tokens.length || poll.busy) return;
    poll.busy = true;
    try {
      const answer = await ask("GET", `/uploads/batch/0?of=${tokens.join(",")}`, { "HX-Request-Type": "partial" });
      const made = document.createElement("template");
      made.innerHTML = await answer.text();
      for (const line of made.content.querySelectorAll("[data-settled]")) {
        const item = reading.get(line.dataset.upload);
        reading.delete(line.dataset.upload);
        if (item) { item.state = line.dataset.outcome; item.result = line.querySelector(".result"); draw(item); }
      }
    } catch { /* the next look may succeed */ } finally { poll.busy = false; }
  };

  const raise = () => {
    dock = parts.querySelector(".dock").cloneNode(true);
    dock.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      const item = items.find((each) => each.row && each.row === event.target.closest("li"));
      if (button?.matches("[data-fold]")) button.setAttribute("aria-expanded", String(!dock.classList.toggle("folded")));
      else if (button?.matches("[data-stop]")) { for (const each of items) if (each.state !== "failed") cancel(each); tick(); }
      else if (button?.matches("[data-close]")) lower();
      else if (button?.matches("[data-cancel]") && item) { cancel(item); tick(); }
      else if (button?.matches("[data-again]") && item) again(item);
    });
    document.body.append(dock);
  };
  const lower = () => { dock.remove(); dock = null; items.length = 0; clearInterval(clock); clock = null; };
  const draw = (item) => {
    if (!dock) return;
    if (!item.row) {
      item.row = parts.querySelector("li").cloneNode(true);
      item.row.querySelector(".name").textContent = item.row.querySelector(".name").title = item.name;
      dock.querySelector("ul").prepend(item.row);
      prune();
    }
    const find = (what) => item.row.querySelector(what);
    const sending = item.state === "sending";
    find("progress").hidden = !sending;
    find("progress").value = item.file.size ? item.sent / item.file.size : 0;
    find("[data-cancel]").hidden = !sending && !(item.shared && item.state === "failed");
    find("[data-again]").hidden = item.state !== "failed" || Boolean(item.result);
    if (item.result) { if (!item.result.isConnected) find(".state").replaceChildren(item.result); return; }
    const says = { sending: item.note || `${Math.floor(100 * item.sent / (item.file.size || 1))}%`, reading: "Being read", waiting: "Waits", cancelled: "Cancelled", failed: "Not sent" };
    find(".state").textContent = says[item.state] || "";
    let why = find(".why");
    if (item.state === "failed" && !why) { why = document.createElement("span"); why.className = "why"; item.row.append(why); }
    if (why) why.textContent = item.state === "failed" ? item.note : "";
  };
  const prune = () => {
    const lines = dock.querySelectorAll("li");
    for (let at = lines.length - 1, over = lines.length - ROWS; at >= 0 && over > 0; at--) {
      const item = items.find((each) => each.row === lines[at]);
      if (item && ["imported", "duplicate", "skipped", "cancelled"].includes(item.state)) { lines[at].remove(); over--; }
    }
  };
  let clock = null, ticks = 0, pace = [], ended = false;
  const tick = () => {
    if (!dock) return;
    const by = {}, wanted = items.filter((each) => each.state !== "cancelled");
    for (const item of items) by[item.state] = (by[item.state] || 0) + 1;
    const total = wanted.reduce((sum, each) => sum + each.file.size, 0), gone = wanted.reduce((sum, each) => sum + each.sent, 0);
    const busy = (by.waiting || 0) + (by.sending || 0), done = !busy && !by.reading;
    for (const item of items) if (item.state === "sending") draw(item);
    const find = (what) => dock.querySelector(what);
    find("header progress").value = total ? gone / total : 1;
    find("header progress").hidden = done;
    find("[data-stop]").hidden = !busy;
    find("[data-close]").hidden = !done;
    find("[data-page]").hidden = !page;
    if (page) find("[data-page]").href = page;
    pace = [...pace.slice(-20), [performance.now(), gone]];
    const [at, before] = pace[0], rate = (gone - before) / ((performance.now() - at) / 1000 || 1);
    const came = [by.imported && `${by.imported.toLocaleString("en")} imported`, by.duplicate && `${by.duplicate.toLocaleString("en")} already here`,
      by.skipped && `${by.skipped.toLocaleString("en")} not pictures`, by.failed && `${by.failed.toLocaleString("en")} failed`, by.cancelled && `${by.cancelled.toLocaleString("en")} cancelled`].filter(Boolean).join(", ");
    find("[data-title]").textContent = busy ? `Uploading ${count(busy, "file")}` : by.reading ? `Reading ${count(by.reading, "file")}` : count(items.length, "file");
    find("[data-sub]").textContent = !busy ? came : !navigator.onLine ? "No connection; it goes on by itself"
      : `${size(gone)} of ${size(total)}` + (rate > 1000 && gone < total ? `, about ${lasts((total - gone) / rate)} left` : "") + (came ? `; ${came}` : "");
    if (++ticks % 3 === 0) poll();
    if (done && !ended) {
      find("[data-said]").textContent = `Uploads done: ${came}`;
      document.body.dispatchEvent(new CustomEvent("uploads:done", { detail: by }));
      // Live parts of the page look at once instead of in a few seconds.
      document.body.dispatchEvent(new Event("beat"));
      // An empty gallery has nothing that could grow.
      if (by.imported && !by.failed && document.querySelector(".first-empty")) location.reload();
    }
    ended = done;
  };

  addEventListener("beforeunload", (event) => { if (active || waiting.length) event.preventDefault(); });
  return { add, shared };
})(document.querySelector("[data-upload-parts]").content);
