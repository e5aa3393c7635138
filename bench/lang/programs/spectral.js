// Small functions with floating results: ten rounds of the power method for the
// spectral norm of a matrix of 100 × 100.
(function () {
  function element(i, j) {
    return 1 / (((i + j) * (i + j + 1)) / 2 + i + 1);
  }
  function times(v, n) {
    const result = [];
    for (let i = 0; i < n; i++) {
      let sum = 0.0;
      for (let j = 0; j < n; j++) {
        sum = sum + element(i, j) * v[j];
      }
      result.push(sum);
    }
    return result;
  }
  function timesTurned(v, n) {
    const result = [];
    for (let i = 0; i < n; i++) {
      let sum = 0.0;
      for (let j = 0; j < n; j++) {
        sum = sum + element(j, i) * v[j];
      }
      result.push(sum);
    }
    return result;
  }
  const n = 100;
  let u = [];
  let v = null;
  for (let i = 0; i < n; i++) {
    u.push(1);
  }
  for (let round = 0; round < 10; round++) {
    v = timesTurned(times(u, n), n);
    u = timesTurned(times(v, n), n);
  }
  let uv = 0;
  let vv = 0;
  for (let i = 0; i < n; i++) {
    uv = uv + u[i] * v[i];
    vv = vv + v[i] * v[i];
  }
  return Math.floor(Math.sqrt(uv / vv) * 1000000);
})();
