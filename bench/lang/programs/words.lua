-- Texts and maps: 200 000 words of a text counted, and sorted by how often they
-- stand in it.
local seed = 42
local parts = {}
for i = 1, 200000 do
  seed = (seed * 3877 + 29573) % 139968
  parts[#parts + 1] = "w" .. seed % 4999
end
local text = table.concat(parts, " ")

local counts = {}
for word in string.gmatch(text, "[^ ]+") do
  counts[word] = (counts[word] or 0) + 1
end
local sorted = {}
for key, value in pairs(counts) do
  sorted[#sorted + 1] = {key = key, value = value}
end
table.sort(sorted, function(a, b)
  if a.value ~= b.value then
    return a.value > b.value
  end
  return a.key < b.key
end)
local sum = 0
for place, e in ipairs(sorted) do
  sum = (sum + e.value * place + #e.key) % 1000003
end

return sum .. "-" .. sorted[1].key
