// Texts and maps: 200 000 words of a text counted, and sorted by how often they
// stand in it.
(function () {
  let seed = 42;
  const parts = [];
  for (let i = 0; i < 200000; i++) {
    seed = (seed * 3877 + 29573) % 139968;
    parts.push("w" + (seed % 4999));
  }
  const text = parts.join(" ");

  const counts = new Map();
  for (const word of text.split(" ")) {
    counts.set(word, (counts.get(word) || 0) + 1);
  }
  const sorted = [];
  for (const [key, value] of counts) {
    sorted.push({key, value});
  }
  sorted.sort((a, b) => (a.value !== b.value ? b.value - a.value : a.key < b.key ? -1 : 1));
  let sum = 0;
  for (let place = 0; place < sorted.length; place++) {
    sum = (sum + sorted[place].value * (place + 1) + sorted[place].key.length) % 1000003;
  }
  return sum + "-" + sorted[0].key;
})();
