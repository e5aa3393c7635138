-- Small lists: binary trees built and counted, one of them kept all the while.
local function tree(depth)
  if depth == 0 then
    return {false, false}
  end
  return {tree(depth - 1), tree(depth - 1)}
end

local function nodes(t)
  if not t[1] then
    return 1
  end
  return 1 + nodes(t[1]) + nodes(t[2])
end

local kept = tree(12)
local count = 0
for depth = 4, 12, 2 do
  for round = 1, 2 ^ (14 - depth) do
    count = count + nodes(tree(depth))
  end
end

return count + nodes(kept)
