-- Floating point: how many points of a 300 × 300 grid over the Mandelbrot set
-- have not escaped after 50 rounds.
local size = 300
local inside = 0
for row = 0, size - 1 do
  local ci = row / size * 2.0 - 1.0
  for column = 0, size - 1 do
    local cr = column / size * 3.0 - 2.0
    local zr, zi, rounds = 0.0, 0.0, 0
    while rounds < 50 and zr * zr + zi * zi <= 4.0 do
      local next = zr * zr - zi * zi + cr
      zi = 2.0 * zr * zi + ci
      zr = next
      rounds = rounds + 1
    end
    if rounds == 50 then
      inside = inside + 1
    end
  end
end

return inside
