FOR ?i = 1 TO 10 DO
  EMIT ?i
END
