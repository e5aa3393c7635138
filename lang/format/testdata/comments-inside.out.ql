SET /* a */ ?x /* b */ AS /* c */ 1 /* d */ + /* e */ 2 -- f
SET ?x AS 1 -- one
  + 2 -- two
  + 3
SET ?x AS 1
  -- before the operator
  + 2
SET -- g
  ?x -- h
  AS -- i
  -- j
  1 -- k
SET ?x AS - /* minus */ 1
SET ?x AS NOT -- really
  ?x
EMIT 1, -- one
  2 /* two */,
  3
SET ?x AS (/* in */ 1 /* out */)
SET ?x AS (
  -- own
  1
)
SET ?x AS ?x /* x */. /* dot */ y /* y */ [/* i */ 0 /* o */]
SET ?x AS ?x IS /* is */ NOT /* not */ NULL
SET ?x AS 1 /* n */ NOT IN /* i */ [1]
FOR ?k /* k */, /* v */ ?v IN /* seq */ ?x DO /* body */
END
DEFINE f /* f */ (/* none */) -- f
END
DEFINE g(
  ?a, -- a
  ?b DEFAULT /* b */ 1
)
END
