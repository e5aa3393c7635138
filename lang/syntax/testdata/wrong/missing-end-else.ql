IF ?a THEN
  FOR ?x IN ?list DO
    EMIT ?x
ELSE
  EMIT "b"
END
