set ?x as 1 set ?x.a as 2 SET ?x . b [ 0 ] . c AS 3
set "key" as 1 of ?x set 'key' as 2 of !session
SET "header:Content-Type" AS "text/html" OF !Response
set "k{?x}" as {a:1} of ?x.b["c"]
unset ?x unset ?x.a[ -1 ] unset "key" of ?x unset "a" of !cookie
