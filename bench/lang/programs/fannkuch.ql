-- Short lists: how often the first elements of all permutations of 9 must be
-- turned over until a 0 leads.
SET ?n AS 9
SET ?p AS RANGE(0, ?n - 1)
SET ?q AS RANGE(0, ?n - 1)
SET ?s AS RANGE(0, ?n - 1)
SET ?sign AS 1
SET ?most AS 0
SET ?sum AS 0
SET ?more AS true
WHILE ?more DO
  SET ?first AS ?p[0]
  IF ?first != 0 THEN
    FOR ?i FROM 1 TO ?n - 1 DO
      SET ?q[?i] AS ?p[?i]
    END
    SET ?flips AS 1
    SET ?next AS ?q[?first]
    WHILE ?next != 0 DO
      SET ?q[?first] AS ?first
      IF ?first >= 3 THEN
        SET ?i AS 1
        SET ?j AS ?first - 1
        WHILE ?i < ?j DO
          SET ?held AS ?q[?i]
          SET ?q[?i] AS ?q[?j]
          SET ?q[?j] AS ?held
          SET ?i AS ?i + 1
          SET ?j AS ?j - 1
        END
      END
      SET ?first AS ?next
      SET ?next AS ?q[?first]
      SET ?flips AS ?flips + 1
    END
    SET ?sum AS ?sum + ?sign * ?flips
    IF ?flips > ?most THEN
      SET ?most AS ?flips
    END
  END
  IF ?sign = 1 THEN
    SET ?held AS ?p[0]
    SET ?p[0] AS ?p[1]
    SET ?p[1] AS ?held
    SET ?sign AS -1
  ELSE
    SET ?held AS ?p[1]
    SET ?p[1] AS ?p[2]
    SET ?p[2] AS ?held
    SET ?sign AS 1
    SET ?i AS 2
    SET ?turning AS true
    WHILE ?turning DO
      SET ?left AS ?s[?i]
      IF ?left != 0 THEN
        SET ?s[?i] AS ?left - 1
        SET ?turning AS false
      ELSE
        IF ?i = ?n - 1 THEN
          SET ?more AS false
          SET ?turning AS false
        ELSE
          SET ?s[?i] AS ?i
          SET ?held AS ?p[0]
          FOR ?j FROM 0 TO ?i DO
            SET ?p[?j] AS ?p[?j + 1]
          END
          SET ?i AS ?i + 1
          SET ?p[?i] AS ?held
        END
      END
    END
  END
END

EMIT "{?sum}/{?most}"
