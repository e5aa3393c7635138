-- Maps: a million text keys put in, then each built again and looked up.
local map = {}
for i = 0, 999999 do
  map["k" .. i] = i
end
local sum = 0
for i = 0, 999999 do
  sum = sum + map["k" .. i]
end

return sum
