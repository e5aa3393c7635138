CHECK ?x FIELDS a TEXT
CHECK (?x) FIELDS a TEXT REQUIRED, b INTEGER MIN 1 MAX (10) SET ?y
CHECK {a: 1} FIELDS
  a      INTEGER, -- the first
  longer LONG TEXT LABEL "L",
  c      CHOICE ["a", "b"] DEFAULT "a"
SET ?clean
EMIT check(1)
CHECK ?request.body.items[0].address FIELDS
  street TEXT REQUIRED MAX 200,
  city   TEXT REQUIRED MAX 100
SET ?address
