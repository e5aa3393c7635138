// Makes the pages of questions more convenient. All of them work without it.
(() => {
  "use strict";
  const store = "ql-draft:";
  const language = document.documentElement.lang;
  let form;

  // Some browsers keep nothing, or have no room: then there are no drafts.
  const safely = (act) => { try { return act(); } catch { return undefined; } };

  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

  // ---- moments, in the reader's zone

  function localTimes() {
    const format = new Intl.DateTimeFormat(language === "en" ? "en-GB" : language,
      { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
    for (const time of document.querySelectorAll("time[datetime]")) {
      time.title = time.textContent;
      time.textContent = format.format(new Date(time.dateTime));
    }
  }

  // ---- counters

  function counters() {
    for (const note of document.querySelectorAll("[data-most]")) {
      const field = document.getElementById(note.id.replace("c", "f")) ?? document.getElementById(note.id.slice(1));
      const most = Number(note.dataset.most);
      const number = new Intl.NumberFormat(language, { useGrouping: "always" });
      const count = () => {
        const n = [...field.value].length; // code points, as the service counts
        note.textContent = fill(note.dataset.count, { n: number.format(n), most: number.format(most) });
        note.classList.toggle("wrong", n > most);
      };
      field.addEventListener("input", count);
      count();
    }
  }

  // ---- drafts, in this tab alone, and never of secrets and files

  const key = () => store + location.pathname;
  const kept = (field) => field.name && !["password", "file", "submit", "button", "hidden"].includes(field.type);

  function save(sent) {
    const values = {};
    for (const field of form.elements) {
      if (!kept(field)) continue;
      const list = (values[field.name] ??= []);
      if (field.type !== "radio" && field.type !== "checkbox" || field.checked) list.push(field.value);
    }
    safely(() => sessionStorage.setItem(key(), JSON.stringify({ sent, values })));
  }

  function restore() {
    const draft = safely(() => JSON.parse(sessionStorage.getItem(key())));
    if (!draft?.values) return;
    for (const field of form.elements) {
      const values = kept(field) && Object.hasOwn(draft.values, field.name) && draft.values[field.name];
      if (!Array.isArray(values)) continue;
      if (field.type === "radio" || field.type === "checkbox") field.checked = values.includes(field.value);
      else if (values.length && field.value !== values[0]) field.value = values[0];
    }
  }

  const failed = () => "failed" in document.querySelector("main").dataset;

  // What was sent from another page of this tab has arrived: it led here.
  function forget() {
    safely(() => {
      for (const name of Object.keys(sessionStorage)) {
        if (!name.startsWith(store)) continue;
        const mine = name === key();
        if (mine && !form && !failed() || !mine && JSON.parse(sessionStorage.getItem(name)).sent) sessionStorage.removeItem(name);
      }
    });
  }

  // ---- sending

  let busy = false;

  function say(text) {
    const status = document.querySelector(".progress");
    status.hidden = !text;
    status.classList.remove("wrong");
    status.textContent = text;
    return status;
  }

  function wake() {
    busy = false;
    if (form) say("");
  }

  let timer; // of a draft that is not kept yet

  function saveNow() {
    if (timer && !busy) save(false);
    clearTimeout(timer);
    timer = undefined;
  }

  function onSubmit(event) {
    if (busy) {
      event.preventDefault();
      return;
    }
    busy = true;
    save(true);
    const files = [...form.elements].some((field) => field.type === "file" && field.files.length > 0);
    if (!files) {
      say(form.dataset.sending);
      return;
    }
    event.preventDefault();
    upload(event.submitter);
  }

  // upload sends a form with files, and shows how far it is. The answer is a page of ours, whose
  // main part is put in the place of this one's.
  function upload(submitter) {
    const bar = document.createElement("progress");
    const text = document.createElement("span");
    bar.max = 1;
    bar.setAttribute("aria-label", form.dataset.sending);
    say(form.dataset.sending).replaceChildren(text, bar);
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "text/html");
    request.responseType = "document";
    request.upload.onprogress = (e) => {
      if (!e.lengthComputable) return;
      bar.value = e.loaded / e.total;
      text.textContent = e.loaded < e.total ? fill(form.dataset.uploading, { n: Math.floor(100 * bar.value) }) : form.dataset.sending;
    };
    const lost = (why) => {
      busy = false;
      save(false);
      say((why ? why + " " : "") + form.dataset.lost).classList.add("wrong");
    };
    request.onerror = request.onabort = () => lost();
    request.onload = () => {
      const main = request.response?.querySelector("main");
      if (!main) return lost();
      if ("failed" in main.dataset) return lost(main.querySelector("h1 + p, .end + p")?.textContent);
      if (request.responseURL !== form.action) return location.assign(request.responseURL);
      const before = form;
      document.title = request.response.title;
      const focused = main.querySelector("[autofocus]") ?? main.querySelector("h1");
      focused.removeAttribute("autofocus"); // that is for pages as they load
      if (focused.matches("h1")) focused.tabIndex = -1;
      document.querySelector("main").replaceWith(document.adoptNode(main));
      start();
      if (form) takeOver(before);
      focused.focus();
    };
    request.send(new FormData(form, submitter));
  }

  // takeOver puts chosen files and typed secrets into a form that is shown again: no page can bring
  // them back.
  function takeOver(before) {
    for (const field of form.elements) {
      const old = field.name && before.elements.namedItem(field.name);
      if (field.type === "file" && old.files?.length) field.files = old.files;
      else if (field.type === "password" && old.value) field.value = old.value;
      else continue;
      const note = document.getElementById("w" + field.id.slice(1));
      if (note && field.getAttribute("aria-invalid") !== "true") note.hidden = true;
    }
  }

  // ---- the page

  function start() {
    form = document.querySelector("form");
    busy = false;
    localTimes();
    forget();
    if (!form) return;
    if (!("again" in form.dataset)) restore();
    counters();
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(saveNow, 300);
    });
    form.addEventListener("submit", onSubmit);
    form.addEventListener("keydown", (event) => {
      const send = form.querySelector("[data-send]");
      // A decision is never made by a key.
      if (send && event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
        event.preventDefault();
        form.requestSubmit(send);
      }
    });
    if ("again" in form.dataset) save(false);
  }

  addEventListener("pagehide", saveNow);
  addEventListener("pageshow", (event) => { if (event.persisted) wake(); });
  start();
})();
