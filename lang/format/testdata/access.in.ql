set ?x as ?order . items [ 0 ] . name set ?x as ?row['unit price'] set ?x as ?list[ -1 ] set ?x as {a:1}.a set ?x as "x" [ 0 ]
set ?x as ?m.end.set.From set ?x as f(1).b[2] set ?x as ?a[?b[?c[0]]]
define f(?a) return ?a end
set ?order as 1 set ?row as 1 set ?list as 1 set ?m as 1 set ?a as 1 set ?b as 1 set ?c as 1
