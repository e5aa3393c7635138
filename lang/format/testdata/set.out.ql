SET ?x AS 1
SET ?x.a AS 2
SET ?x.b[0].c AS 3
SET "key" AS 1 OF ?x
SET 'key' AS 2 OF !SESSION
SET "header:Content-Type" AS "text/html" OF !RESPONSE
SET "k{?x}" AS {a: 1} OF ?x.b["c"]
UNSET ?x
UNSET ?x.a[-1]
UNSET "key" OF ?x
UNSET "a" OF !COOKIE
