// Loads the page again when a file that it was made of changes. A page that nobody sees does not
// listen: browsers have few connections to one host, and it is told when it is seen again.
(() => {
  const page = new URL(document.currentScript.src).searchParams.get("page");
  let changes = null;
  const listen = () => {
    if (document.visibilityState !== "visible") {
      changes?.close();
      changes = null;
      return;
    }
    if (changes) return;
    changes = new EventSource("/_ql/dev/changes?page=" + encodeURIComponent(page));
    changes.addEventListener("change", () => {
      changes.close();
      location.reload();
    });
  };
  document.addEventListener("visibilitychange", listen);
  listen();
})();
