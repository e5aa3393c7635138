-- Small functions with floating results: ten rounds of the power method for the
-- spectral norm of a matrix of 100 × 100.
local function element(i, j)
  return 1 / ((i + j) * (i + j + 1) / 2 + i + 1)
end

local function times(v, n)
  local result = {}
  for i = 0, n - 1 do
    local sum = 0.0
    for j = 0, n - 1 do
      sum = sum + element(i, j) * v[j + 1]
    end
    result[#result + 1] = sum
  end
  return result
end

local function times_turned(v, n)
  local result = {}
  for i = 0, n - 1 do
    local sum = 0.0
    for j = 0, n - 1 do
      sum = sum + element(j, i) * v[j + 1]
    end
    result[#result + 1] = sum
  end
  return result
end

local n = 100
local u, v = {}, nil
for i = 1, n do
  u[#u + 1] = 1
end
for round = 1, 10 do
  v = times_turned(times(u, n), n)
  u = times_turned(times(v, n), n)
end
local uv, vv = 0, 0
for i = 1, n do
  uv = uv + u[i] * v[i]
  vv = vv + v[i] * v[i]
end

return math.floor(math.sqrt(uv / vv) * 1000000)
