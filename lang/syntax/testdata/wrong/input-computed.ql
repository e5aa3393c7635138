INPUT FIELDS
  a INTEGER MAX ?n,
  b TEXT DEFAULT "x{?n}",
  c CHOICE SPLIT("a b", " "),
  d DATE MIN NOW(),
  e INTEGER MAX (60 * 24)
