SET ?n AS 0
SET ?done AS FALSE
WHILE NOT ?done AND ?n < 5 DO
  SET ?n AS ?n + 1
  TRY
    FETCH "https://partner.example.com/ping" TIMEOUT 10 SECONDS SET ?r
    SET ?done AS ?r.status = 200
  CATCH ?e
    EMIT LINE "try {?n}: {?e.message}"
  END
  IF NOT ?done THEN WAIT POWER(2, ?n) SECONDS END
END
EMIT CASE WHEN ?done THEN "up" ELSE "down" END
