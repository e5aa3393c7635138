-- Uses functions of a file of its own, which other scripts can use too.
--
--   ql run examples/prices.ql --data examples --get net=100
INCLUDE "/lib/money.ql"
SET ?net AS NUMBER(!GET('net')) DEFAULT 100
EMIT LINE line("Net", ?net)
EMIT LINE line("Tax", tax(?net))
EMIT LINE line("Total", ?net + tax(?net))
EMIT LINE line("Total, reduced", ?net + tax(?net, 0.07))
