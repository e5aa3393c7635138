-- Texts: a hundred thousand built, kept in a list and joined, five times over.
local total = 0
for round = 1, 5 do
  local parts = {}
  for i = 0, 99999 do
    parts[#parts + 1] = "item" .. i
  end
  total = total + #table.concat(parts, ",")
end

return total
