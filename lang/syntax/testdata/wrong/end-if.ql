IF ?a THEN
  EMIT "a"
END IF
EMIT "b"
