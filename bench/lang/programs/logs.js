// Patterns: 40 000 lines of a log taken apart, searched, and their numbers hidden.
(function () {
  const lines = [];
  for (let i = 0; i < 40000; i++) {
    lines.push("2026-11-18T02:" + (i % 60) + ":10 host" + (i % 17) + " GET /shop/item/" + i + "?page=" + (i % 9) + "&q=red " + (200 + (i % 5) * 100) + " " + i * 7);
  }
  let bytes = 0;
  let found = 0;
  let hidden = 0;
  const statuses = new Map();
  for (const line of lines) {
    const m = /^(\S+) (\S+) ([A-Z]+) (\/\S*) ([0-9]+) ([0-9]+)$/.exec(line);
    statuses.set(m[5], (statuses.get(m[5]) || 0) + 1);
    bytes = bytes + Number(m[6]);
    if (/item\/[0-9]*7\?page=[0-4]&/.test(line)) {
      found = found + 1;
    }
    hidden = hidden + line.replace(/[0-9]+/g, "#").length;
  }
  return bytes + "-" + found + "-" + hidden + "-" + statuses.get("400");
})();
