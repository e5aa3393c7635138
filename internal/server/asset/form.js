// Makes the pages of questions more convenient. All of them work without it.
//
// A field may have any name, and hides what its form has by that name ("elements", "action"). So
// nothing is asked of a form itself: fields are looked up in the document, and words are with main.
(() => {
  "use strict";
  const store = "ql-draft:";
  const language = document.documentElement.lang;
  let main, form, fields;

  // Some browsers keep nothing, or have no room: then there are no drafts.
  const safely = (act) => { try { return act(); } catch { return undefined; } };

  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

  // ---- moments, in the reader's zone

  function localTimes() {
    const format = new Intl.DateTimeFormat(language === "en" ? "en-GB" : language,
      { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
    for (const time of main.querySelectorAll("time[datetime]")) {
      time.title = time.textContent;
      time.textContent = format.format(new Date(time.dateTime));
    }
  }

  // ---- counters

  function counters() {
    const number = new Intl.NumberFormat(language, { useGrouping: "always" });
    for (const note of main.querySelectorAll("[data-most]")) {
      const field = document.getElementById(note.dataset.of);
      const most = Number(note.dataset.most);
      const count = () => {
        const n = [...field.value].length; // code points, as the service counts
        note.textContent = fill(main.dataset.count, { n: number.format(n), most: number.format(most) });
        note.classList.toggle("wrong", n > most);
      };
      field.addEventListener("input", count);
      count();
    }
  }

  // ---- files, which need not be sent to be found too large

  function sizes() {
    for (const field of fields.filter((one) => one.dataset.bytes)) {
      field.addEventListener("change", () => {
        const large = [...field.files].some((file) => file.size > Number(field.dataset.bytes));
        field.setCustomValidity(large ? field.dataset.large : "");
        if (large) field.reportValidity();
      });
    }
  }

  // ---- drafts, in this tab alone, and never of secrets and files

  const key = () => store + location.pathname;
  const isKept = (field) => field.type !== "password" && field.type !== "file";
  const isMark = (field) => field.type === "radio" || field.type === "checkbox";

  function save(sent) {
    const values = fields.filter(isKept).map((field) => [field.name, field.value, isMark(field) ? field.checked : true]);
    safely(() => sessionStorage.setItem(key(), JSON.stringify({ sent, values })));
  }

  function restore() {
    safely(() => {
      const draft = JSON.parse(sessionStorage.getItem(key()));
      for (const [name, value, chosen] of draft?.values ?? []) {
        for (const field of fields) {
          if (field.name !== name || !isKept(field)) continue;
          if (!isMark(field)) field.value = value;
          else if (field.value === value) field.checked = chosen;
        }
      }
    });
  }

  // What was sent from another page of this tab has arrived: it led here.
  function forget() {
    safely(() => {
      for (const name of Object.keys(sessionStorage)) {
        if (!name.startsWith(store)) continue;
        const mine = name === key();
        if (mine && !form && !("failed" in main.dataset) || !mine && JSON.parse(sessionStorage.getItem(name)).sent) sessionStorage.removeItem(name);
      }
    });
  }

  // ---- sending

  let busy = false;
  let timer; // of a draft that is not kept yet

  function saveNow() {
    if (timer && !busy) save(false);
    clearTimeout(timer);
    timer = undefined;
  }

  function say(text) {
    const status = main.querySelector(".progress");
    status.hidden = !text;
    status.classList.remove("wrong");
    status.textContent = text;
    return status;
  }

  function onSubmit(event) {
    if (busy) {
      event.preventDefault();
      return;
    }
    busy = true;
    save(true);
    say(main.dataset.sending);
    if (fields.some((field) => field.type === "file" && field.files.length > 0)) {
      event.preventDefault();
      upload();
    }
  }

  // upload sends a form with files, and shows how far it is. The answer is a page of ours, whose
  // main part is put in the place of this one's.
  function upload() {
    const bar = document.createElement("progress");
    const text = document.createElement("span");
    bar.max = 1;
    bar.setAttribute("aria-label", main.dataset.sending);
    say(main.dataset.sending).replaceChildren(text, bar);
    const to = new URL(Element.prototype.getAttribute.call(form, "action"), location.href).href;
    const request = new XMLHttpRequest();
    request.open("POST", to);
    request.setRequestHeader("Accept", "text/html");
    request.responseType = "document";
    request.upload.onprogress = (e) => {
      if (!e.lengthComputable) return;
      bar.value = e.loaded / e.total;
      text.textContent = e.loaded < e.total ? fill(main.dataset.uploading, { n: Math.floor(100 * bar.value) }) : main.dataset.sending;
    };
    const lost = (why) => {
      busy = false;
      save(false);
      say((why ? why + " " : "") + main.dataset.lost).classList.add("wrong");
    };
    request.onerror = request.onabort = () => lost();
    request.onload = () => {
      const next = request.response?.querySelector("main");
      if (!next) return lost();
      if ("failed" in next.dataset) return lost(next.querySelector(".end + p")?.textContent);
      if (request.responseURL !== to) return location.assign(request.responseURL);
      show(next, request.response.title);
    };
    request.send(new FormData(form));
  }

  // show puts the main part of another page in the place of this one's.
  function show(next, title) {
    const before = fields;
    const focused = next.querySelector("[autofocus]") ?? next.querySelector("h1");
    focused.removeAttribute("autofocus"); // that is for pages as they load
    if (focused.matches("h1")) focused.tabIndex = -1;
    document.title = title;
    main.replaceWith(document.adoptNode(next));
    start();
    takeOver(before);
    focused.focus();
  }

  // takeOver puts chosen files and typed secrets into a form that is shown again: no page can bring
  // them back.
  function takeOver(before) {
    for (const field of fields) {
      const old = before.find((other) => other.name === field.name);
      if (field.type === "file" && old?.files.length) field.files = old.files;
      else if (field.type === "password" && old?.value) field.value = old.value;
      else continue;
      const note = document.getElementById("w" + field.id.slice(1));
      if (note && field.getAttribute("aria-invalid") !== "true") note.hidden = true;
    }
  }

  // ---- while the job is at work

  async function follow() {
    try {
      for (;;) {
        const answer = await fetch(location.pathname + location.search + "&state&wait=20", { headers: { Accept: "application/json" } });
        if (!answer.ok) break; // too many wait, or the service is on its way up again
        const { state, url } = await answer.json();
        if (state === "next") return location.replace(url);
        if (state !== "working") return location.reload();
      }
    } catch { /* the line is cut for now */ }
    setTimeout(() => location.reload(), 4000 + 2000 * Math.random());
  }

  // ---- the page

  function onKey(event) {
    const send = main.querySelector("[data-send]"); // a decision is never made by a key
    if (send && event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
      event.preventDefault();
      send.click();
    }
  }

  function start() {
    main = document.querySelector("main");
    form = main.querySelector("form");
    fields = [...main.querySelectorAll("form :is(input, select, textarea)")];
    busy = false;
    localTimes();
    forget();
    if ("working" in main.dataset) follow();
    if (!form) return;
    if ("again" in main.dataset) save(false);
    else restore();
    counters();
    sizes();
    main.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(saveNow, 300);
    });
    main.addEventListener("submit", onSubmit);
    main.addEventListener("keydown", onKey);
  }

  addEventListener("pagehide", saveNow);
  addEventListener("pageshow", (event) => {
    if (!event.persisted || !form) return;
    busy = false;
    say("");
  });
  start();
})();
