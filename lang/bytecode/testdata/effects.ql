-- effects, handlers, paths, globals
TRY
  TRANSACTION
    INSERT INTO t (a, b) VALUES (?m.a, !GET('b'));
    SELECT * FROM t WHERE id IN (?ids) SET ?rows
  END
CATCH ?e
  SET ?m.errors.last AS ?e
  APPEND ?e.code TO ?ids
  FAIL ?e
END
SET "status" AS 200 OF !RESPONSE
EMIT HTML "<p>{?m.name}</p>", MAP(?rows, ?r -> ?r.id)
RUN "echo {?m.name}" ON "studio" TIMEOUT 1 MINUTE SET ?out
CONFIRM "Go on?" WITHIN 2 DAYS
STOP
