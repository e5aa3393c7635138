-- Lists and comparisons: quicksort of 300 000 pseudo-random numbers.
local function sort(a, low, high)
  if low >= high then
    return
  end
  local pivot = a[math.floor((low + high) / 2)]
  local i, j = low, high
  while i <= j do
    while a[i] < pivot do
      i = i + 1
    end
    while a[j] > pivot do
      j = j - 1
    end
    if i <= j then
      local held = a[i]
      a[i] = a[j]
      a[j] = held
      i = i + 1
      j = j - 1
    end
  end
  sort(a, low, j)
  sort(a, i, high)
end

local n = 300000
local seed = 42
local a = {}
for k = 1, n do
  seed = (seed * 3877 + 29573) % 139968
  a[k] = seed
end
sort(a, 1, n)

return a[1] + a[150001] + a[300000]
