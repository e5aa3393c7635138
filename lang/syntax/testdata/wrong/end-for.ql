FOR ?x IN ?l DO
  EMIT ?x
END FOR
