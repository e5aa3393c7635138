-- Short lists: how often the first elements of all permutations of 9 must be
-- turned over until a 0 leads.
local n = 9
local p, q, s = {}, {}, {}
for i = 0, n - 1 do
  p[i + 1], q[i + 1], s[i + 1] = i, i, i
end
local sign, most, sum, more = 1, 0, 0, true
while more do
  local first = p[1]
  if first ~= 0 then
    for i = 2, n do
      q[i] = p[i]
    end
    local flips = 1
    local next = q[first + 1]
    while next ~= 0 do
      q[first + 1] = first
      if first >= 3 then
        local i, j = 2, first
        while i < j do
          local held = q[i]
          q[i] = q[j]
          q[j] = held
          i = i + 1
          j = j - 1
        end
      end
      first = next
      next = q[first + 1]
      flips = flips + 1
    end
    sum = sum + sign * flips
    if flips > most then
      most = flips
    end
  end
  if sign == 1 then
    local held = p[1]
    p[1] = p[2]
    p[2] = held
    sign = -1
  else
    local held = p[2]
    p[2] = p[3]
    p[3] = held
    sign = 1
    local i = 3
    local turning = true
    while turning do
      local left = s[i]
      if left ~= 0 then
        s[i] = left - 1
        turning = false
      else
        if i == n then
          more = false
          turning = false
        else
          s[i] = i - 1
          local held = p[1]
          for j = 1, i do
            p[j] = p[j + 1]
          end
          i = i + 1
          p[i] = held
        end
      end
    end
  end
end

return sum .. "/" .. most
