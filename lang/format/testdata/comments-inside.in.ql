set /* a */ ?x /* b */ as /* c */ 1 /* d */ + /* e */ 2 -- f
set ?x as 1 + -- one
2 + -- two
3
set ?x as 1
-- before the operator
+ 2
set -- g
?x -- h
as -- i
-- j
1 -- k
set ?x as - /* minus */ 1 set ?x as not -- really
?x
emit 1, -- one
2 /* two */, 3
set ?x as ( /* in */ 1 /* out */ ) set ?x as (
-- own
1)
set ?x as ?x /* x */ . /* dot */ y /* y */ [ /* i */ 0 /* o */ ]
set ?x as ?x is /* is */ not /* not */ null set ?x as 1 not /* n */ in /* i */ [1]
for ?k /* k */ , /* v */ ?v in /* seq */ ?x do /* body */ end
define f /* f */ ( /* none */ ) -- f
end
define g ( ?a -- a
, ?b default /* b */ 1) end
