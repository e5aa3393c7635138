// HTML: a table of 100 000 rows, with what is inserted escaped.
(function () {
  const escapes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"};
  function escape(text) {
    return String(text).replace(/[&<>"']/g, (c) => escapes[c]);
  }
  const names = ["Ada Lovelace", "R&D <Berlin>", "plain", "a < b", "Tom & Jerry > Sam"];
  const html = ["<table>"];
  for (let i = 0; i < 100000; i++) {
    html.push("<tr><td>" + escape(i) + "</td><td>" + escape(names[i % 5]) + "</td><td class=n>" + escape(i * 3) + "</td></tr>\n");
  }
  html.push("</table>");
  return html.join("").length;
})();
