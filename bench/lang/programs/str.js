// Texts: a hundred thousand built, kept in a list and joined, five times over.
(function () {
  let total = 0;
  for (let round = 1; round <= 5; round++) {
    const parts = [];
    for (let i = 0; i < 100000; i++) {
      parts.push("item" + i);
    }
    total = total + parts.join(",").length;
  }
  return total;
})();
