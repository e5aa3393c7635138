FOR ?x IN ?list
  EMIT ?x
END
EMIT "ok"
