SET ?now AS NOW()
IF !REQUEST('method') = "POST" THEN
  INSERT INTO guestbook (name, message, at) VALUES (!POST('name'), !POST('message'), ?now);
  SET "status" AS 303 OF !RESPONSE
  SET "header:Location" AS "/guestbook" OF !RESPONSE
  STOP
END
SELECT name, message FROM guestbook ORDER BY at DESC LIMIT 50 SET ?entries
EMIT HTML """<h1>Guestbook</h1><form method="post"><input name="name"><textarea name="message"></textarea><button>Sign</button></form>"""
FOR ?e IN ?entries DO
  EMIT HTML """<p><b>{?e.name}</b>: {?e.message}</p>"""
END
