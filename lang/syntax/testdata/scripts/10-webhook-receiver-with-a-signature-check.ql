SET ?expected AS HMAC_SHA256(!REQUEST('body'), !SECRET('hook_secret'))
IF NOT SAME(?expected, !REQUEST('header:x-signature') DEFAULT "") THEN
  SET "status" AS 401 OF !RESPONSE
  EMIT "bad signature"
  STOP
END
SET ?event AS FROM_JSON(!REQUEST('body'))
INSERT INTO events (kind, data) VALUES (?event.type, ?event);
EMIT "ok"
