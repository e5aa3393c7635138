-- Patterns: 40 000 lines of a log taken apart, searched, and their numbers hidden.
local lines = {}
for i = 0, 39999 do
  lines[#lines + 1] = "2026-11-18T02:" .. i % 60 .. ":10 host" .. i % 17 .. " GET /shop/item/" .. i .. "?page=" .. i % 9 .. "&q=red " .. 200 + i % 5 * 100 .. " " .. i * 7
end
local bytes, found, hidden = 0, 0, 0
local statuses = {}
for _, line in ipairs(lines) do
  local _, _, _, _, status, size = string.match(line, "^(%S+) (%S+) ([A-Z]+) (/%S*) ([0-9]+) ([0-9]+)$")
  statuses[status] = (statuses[status] or 0) + 1
  bytes = bytes + tonumber(size)
  if string.find(line, "item/[0-9]*7%?page=[0-4]&") then
    found = found + 1
  end
  hidden = hidden + #string.gsub(line, "[0-9]+", "#")
end

return bytes .. "-" .. found .. "-" .. hidden .. "-" .. statuses["400"]
