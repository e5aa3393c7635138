SET ?a AS 1
IF ?a > 1 THEN
  EMIT "a"
