SET ?x = 1
PRINT ?x
IF ?x > 1
  EMIT "big"
END IF
FOR x IN ?list DO
  EMIT ?x
END
WAIT 5
EMIT "done"
