SET ?a AS 1
-- ELSE and IF on two lines: an IF of its own
IF ?a THEN
  EMIT 1
ELSE
  IF ?a = 2 THEN
    EMIT 2
  END
  EMIT 3
END
-- on one line: the same IF
IF ?a THEN
  EMIT 1
ELSE IF ?a = 2 THEN
  EMIT 2
ELSE
  EMIT 3
END
IF ?a THEN
  EMIT 1
ELSE /* comment */ IF ?a = 2 THEN
  EMIT 2
END
IF ?a THEN
  EMIT 1
ELSE /* comment
over lines */
  IF ?a = 2 THEN
    EMIT 2
  END
END
IF ?a THEN
  EMIT 1
ELSE -- why
  IF ?a = 2 THEN
    EMIT 2
  END
END
