SET ?x AS ?order.items[0].name
SET ?x AS ?row['unit price']
SET ?x AS ?list[-1]
SET ?x AS {a: 1}.a
SET ?x AS "x"[0]
SET ?x AS ?m.end.set.From
SET ?x AS f(1).b[2]
SET ?x AS ?a[?b[?c[0]]]
DEFINE f(?a)
  RETURN ?a
END
SET ?order AS 1
SET ?row AS 1
SET ?list AS 1
SET ?m AS 1
SET ?a AS 1
SET ?b AS 1
SET ?c AS 1
