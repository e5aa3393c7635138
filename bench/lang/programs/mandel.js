// Floating point: how many points of a 300 × 300 grid over the Mandelbrot set
// have not escaped after 50 rounds.
(function () {
  const size = 300;
  let inside = 0;
  for (let row = 0; row < size; row++) {
    const ci = (row / size) * 2.0 - 1.0;
    for (let column = 0; column < size; column++) {
      const cr = (column / size) * 3.0 - 2.0;
      let zr = 0.0;
      let zi = 0.0;
      let rounds = 0;
      while (rounds < 50 && zr * zr + zi * zi <= 4.0) {
        const next = zr * zr - zi * zi + cr;
        zi = 2.0 * zr * zi + ci;
        zr = next;
        rounds = rounds + 1;
      }
      if (rounds === 50) {
        inside = inside + 1;
      }
    }
  }
  return inside;
})();
