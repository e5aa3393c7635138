// Short lists: how often the first elements of all permutations of 9 must be
// turned over until a 0 leads.
(function () {
  const n = 9;
  const p = [];
  const q = [];
  const s = [];
  for (let i = 0; i < n; i++) {
    p.push(i);
    q.push(i);
    s.push(i);
  }
  let sign = 1;
  let most = 0;
  let sum = 0;
  let more = true;
  while (more) {
    let first = p[0];
    if (first !== 0) {
      for (let i = 1; i < n; i++) {
        q[i] = p[i];
      }
      let flips = 1;
      let next = q[first];
      while (next !== 0) {
        q[first] = first;
        if (first >= 3) {
          let i = 1;
          let j = first - 1;
          while (i < j) {
            const held = q[i];
            q[i] = q[j];
            q[j] = held;
            i = i + 1;
            j = j - 1;
          }
        }
        first = next;
        next = q[first];
        flips = flips + 1;
      }
      sum = sum + sign * flips;
      if (flips > most) {
        most = flips;
      }
    }
    if (sign === 1) {
      const held = p[0];
      p[0] = p[1];
      p[1] = held;
      sign = -1;
    } else {
      const held = p[1];
      p[1] = p[2];
      p[2] = held;
      sign = 1;
      let i = 2;
      let turning = true;
      while (turning) {
        const left = s[i];
        if (left !== 0) {
          s[i] = left - 1;
          turning = false;
        } else {
          if (i === n - 1) {
            more = false;
            turning = false;
          } else {
            s[i] = i;
            const held = p[0];
            for (let j = 0; j <= i; j++) {
              p[j] = p[j + 1];
            }
            i = i + 1;
            p[i] = held;
          }
        }
      }
    }
  }
  return sum + "/" + most;
})();
