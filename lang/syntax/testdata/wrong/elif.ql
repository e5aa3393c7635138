IF ?a THEN
  EMIT "a"
ELIF ?b THEN
  EMIT "b"
END
