-- JSON: a list of 10 000 orders written, read again and summed up, three times.
local cjson = require("cjson")
local orders = {}
for i = 1, 10000 do
  orders[#orders + 1] = {
    id = i,
    name = "Customer " .. i,
    price = i / 4,
    paid = i % 3 == 0,
    note = cjson.null,
    tags = {"new", "tag" .. i % 10},
    address = {street = "Main Street " .. i, city = 'Berlin "Mitte"', zip = i + 10000},
  }
end
local total = 0
for round = 1, 3 do
  local text = cjson.encode(orders)
  orders = cjson.decode(text)
  for _, order in ipairs(orders) do
    total = total + order.price + order.address.zip + #order.tags
  end
  total = total + #text
end

return math.floor(total)
