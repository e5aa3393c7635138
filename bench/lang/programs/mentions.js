// Patterns with alternatives: addresses, dates and bad news in 8 000 messages.
(function () {
  const messages = [];
  for (let i = 0; i < 8000; i++) {
    const news = i % 3 == 0 ? "Fatal error" : "all is well";
    messages.push("On 2026-" + (10 + (i % 3)) + "-" + (10 + (i % 19)) + " Jo" + (i % 50) + " wrote to jo.doe" + i + "@mail" + (i % 9) + ".example.org: see https://shop" + (i % 7) + ".example/item/" + i + "?q=red, due " + (1 + (i % 28)) + "." + (1 + (i % 12)) + ".2027. " + news + " in part " + i + ", the rest went through.");
  }
  const hosts = new Map();
  let dates = 0;
  let bad = 0;
  let hidden = 0;
  for (const message of messages) {
    for (const m of message.matchAll(/(?:https?|ftp):\/\/([^\/\s]+)(\/\S*)?/g)) {
      hosts.set(m[1], (hosts.get(m[1]) || 0) + 1);
    }
    for (const m of message.matchAll(/(\d{4})-(\d\d)-(\d\d)|(\d{1,2})\.(\d{1,2})\.(\d{4})/g)) {
      dates = dates + Number(m[1] || m[6]);
    }
    if (/\b(?:fatal|error|panic(?:ked)?)\b/i.test(message)) {
      bad = bad + 1;
    }
    hidden = hidden + message.replace(/\b([\w.+-]+)@([\w-]+\.)+(org|com)\b/g, "<$1>").length;
  }
  return hosts.get("shop3.example") + "-" + dates + "-" + bad + "-" + hidden;
})();
