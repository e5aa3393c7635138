-- Takes messages from another service, and only those with its signature: the
-- HMAC of the body under a secret that both know. A message that comes twice
-- counts once.
--
--   mkdir -p ql-data
--   echo '{"hook_secret": "open sesame"}' > ql-data/secrets.json
--   ql run examples/webhook.ql --data ql-data --secrets ql-data/secrets.json \
--     --header x-signature=… --body '{"id": "m1", "type": "paid"}'
SET ?body AS !REQUEST('body') DEFAULT ""
SET ?expected AS HMAC_SHA256(?body, !SECRET('hook_secret'))
IF NOT SAME(?expected, !REQUEST('header:x-signature') DEFAULT "") THEN
  SET "status" AS 401 OF !RESPONSE
  EMIT LINE "bad signature"
  STOP
END

CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, kind TEXT NOT NULL, data TEXT NOT NULL);
SET ?event AS FROM_JSON(?body)
INSERT INTO events (id, kind, data)
VALUES (?event.id, ?event.type, ?event)
ON CONFLICT (id) DO NOTHING
  SET ?done
EMIT LINE CASE WHEN ?done.changes = 1 THEN "ok" ELSE "known" END
