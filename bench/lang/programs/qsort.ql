-- Lists and comparisons: quicksort of 300 000 pseudo-random numbers. A call
-- would work on a copy of the list, so the ranges still to be sorted wait on a
-- stack of the script's own: the longer one each time, so 64 places are plenty.
SET ?n AS 300_000
SET ?seed AS 42
SET ?a AS []
FOR ?k FROM 1 TO ?n DO
  SET ?seed AS (?seed * 3877 + 29573) % 139968
  APPEND ?seed TO ?a
END

SET ?lows AS []
SET ?highs AS []
FOR ?k FROM 1 TO 64 DO
  APPEND 0 TO ?lows
  APPEND 0 TO ?highs
END
SET ?highs[0] AS ?n - 1
SET ?waiting AS 1

WHILE ?waiting > 0 DO
  SET ?waiting AS ?waiting - 1
  SET ?low AS ?lows[?waiting]
  SET ?high AS ?highs[?waiting]
  WHILE ?low < ?high DO
    SET ?pivot AS ?a[(?low + ?high) DIV 2]
    SET ?i AS ?low
    SET ?j AS ?high
    WHILE ?i <= ?j DO
      WHILE ?a[?i] < ?pivot DO
        SET ?i AS ?i + 1
      END
      WHILE ?a[?j] > ?pivot DO
        SET ?j AS ?j - 1
      END
      IF ?i <= ?j THEN
        SET ?held AS ?a[?i]
        SET ?a[?i] AS ?a[?j]
        SET ?a[?j] AS ?held
        SET ?i AS ?i + 1
        SET ?j AS ?j - 1
      END
    END
    IF ?j - ?low < ?high - ?i THEN
      SET ?lows[?waiting] AS ?i
      SET ?highs[?waiting] AS ?high
      SET ?high AS ?j
    ELSE
      SET ?lows[?waiting] AS ?low
      SET ?highs[?waiting] AS ?j
      SET ?low AS ?i
    END
    SET ?waiting AS ?waiting + 1
  END
END

EMIT ?a[0] + ?a[150_000] + ?a[299_999]
