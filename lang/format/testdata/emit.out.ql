EMIT "a", 1, ?x
EMIT LINE
EMIT LINE "b", "c"
EMIT LINE (1)
EMIT JSON {a: ?x}
EMIT JSON (?x)
EMIT JSON [1, 2]
SET ?x AS 1
EMIT "a long text that takes some room in the line",
  "another long text that takes some more room",
  ?x,
  1 + 2
