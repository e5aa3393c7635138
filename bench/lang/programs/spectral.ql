-- Small functions with floating results: ten rounds of the power method for the
-- spectral norm of a matrix of 100 × 100.
DEFINE element(?i, ?j)
  RETURN 1 / ((?i + ?j) * (?i + ?j + 1) / 2 + ?i + 1)
END

DEFINE times(?v, ?n)
  SET ?result AS []
  FOR ?i FROM 0 TO ?n - 1 DO
    SET ?sum AS 0.0
    FOR ?j FROM 0 TO ?n - 1 DO
      SET ?sum AS ?sum + element(?i, ?j) * ?v[?j]
    END
    APPEND ?sum TO ?result
  END
  RETURN ?result
END

DEFINE times_turned(?v, ?n)
  SET ?result AS []
  FOR ?i FROM 0 TO ?n - 1 DO
    SET ?sum AS 0.0
    FOR ?j FROM 0 TO ?n - 1 DO
      SET ?sum AS ?sum + element(?j, ?i) * ?v[?j]
    END
    APPEND ?sum TO ?result
  END
  RETURN ?result
END

SET ?n AS 100
SET ?u AS []
FOR ?i FROM 1 TO ?n DO
  APPEND 1 TO ?u
END
FOR ?round FROM 1 TO 10 DO
  SET ?v AS times_turned(times(?u, ?n), ?n)
  SET ?u AS times_turned(times(?v, ?n), ?n)
END
SET ?uv AS 0
SET ?vv AS 0
FOR ?i FROM 0 TO ?n - 1 DO
  SET ?uv AS ?uv + ?u[?i] * ?v[?i]
  SET ?vv AS ?vv + ?v[?i] * ?v[?i]
END

EMIT FLOOR(SQRT(?uv / ?vv) * 1000000)
