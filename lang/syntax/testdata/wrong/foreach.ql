FOREACH ?x IN ?list DO
  EMIT ?x
END
