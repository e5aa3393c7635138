-- Integer arithmetic: the sum of the numbers below ten million.
SET ?sum AS 0
SET ?i AS 0
WHILE ?i < 10_000_000 DO
  SET ?sum AS ?sum + ?i
  SET ?i AS ?i + 1
END

EMIT ?sum
