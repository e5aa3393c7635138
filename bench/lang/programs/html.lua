-- HTML: a table of 100 000 rows, with what is inserted escaped.
local escapes = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&#34;", ["'"] = "&#39;"}
local function escape(text)
  return (string.gsub(text, "[&<>\"']", escapes))
end

local names = {"Ada Lovelace", "R&D <Berlin>", "plain", "a < b", "Tom & Jerry > Sam"}
local html = {"<table>"}
for i = 0, 99999 do
  html[#html + 1] = "<tr><td>" .. escape(i) .. "</td><td>" .. escape(names[i % 5 + 1]) .. "</td><td class=n>" .. escape(i * 3) .. "</td></tr>\n"
end
html[#html + 1] = "</table>"

return #table.concat(html)
