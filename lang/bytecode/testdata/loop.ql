-- sums, a loop, a function with a default
SET ?sum AS 0
FOR ?x IN [1, 2, 3] DO
  IF ?x = 2 THEN CONTINUE END
  SET ?sum AS ?sum + half(?x)
END
EMIT "sum: {?sum}"

DEFINE half(?n, ?by DEFAULT 2)
  RETURN ?n / ?by
END
