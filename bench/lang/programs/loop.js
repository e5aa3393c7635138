// Integer arithmetic: the sum of the numbers below ten million.
(function () {
  let sum = 0;
  let i = 0;
  while (i < 10000000) {
    sum = sum + i;
    i = i + 1;
  }
  return sum;
})();
