FOR ?x IN ?list DO
  IF ?x > 1 THEN
    EMIT ?x
END
EMIT "done"
