// Lists and comparisons: quicksort of 300 000 pseudo-random numbers.
(function () {
  function sort(a, low, high) {
    if (low >= high) {
      return;
    }
    const pivot = a[Math.floor((low + high) / 2)];
    let i = low;
    let j = high;
    while (i <= j) {
      while (a[i] < pivot) {
        i = i + 1;
      }
      while (a[j] > pivot) {
        j = j - 1;
      }
      if (i <= j) {
        const held = a[i];
        a[i] = a[j];
        a[j] = held;
        i = i + 1;
        j = j - 1;
      }
    }
    sort(a, low, j);
    sort(a, i, high);
  }

  const n = 300000;
  let seed = 42;
  const a = [];
  for (let k = 0; k < n; k++) {
    seed = (seed * 3877 + 29573) % 139968;
    a.push(seed);
  }
  sort(a, 0, n - 1);
  return a[0] + a[150000] + a[299999];
})();
