// Maps: a million text keys put in, then each built again and looked up.
(function () {
  const map = new Map();
  for (let i = 0; i < 1000000; i++) {
    map.set("k" + i, i);
  }
  let sum = 0;
  for (let i = 0; i < 1000000; i++) {
    sum = sum + map.get("k" + i);
  }
  return sum;
})();
