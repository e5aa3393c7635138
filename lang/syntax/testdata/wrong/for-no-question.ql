FOR x IN ?list DO
  EMIT ?x
END
