-- Questions that visitors ask. Each waits for the team, for a week at most; what is approved is
-- shown with the note of whoever did, which is the reply. The team finds them at
--
--   curl -u dev:dev 'http://127.0.0.1:8080/v1/questions?to=team'
INCLUDE "/site/_lib/page.ql"

CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, text TEXT NOT NULL, at TEXT NOT NULL, state TEXT NOT NULL, reply TEXT);
SET ?links AS [{path: "/contact/mine", label: "My question"}]
IF !REQUEST('method') = "POST" THEN
  TRY
    CHECK !POST FIELDS
      name  TEXT REQUIRED MAX 60,
      email EMAIL REQUIRED MAX 200,
      text  LONG TEXT REQUIRED MAX 1000
    SET ?m
  CATCH ?e
    IF ?e.code != "invalid_fields" THEN
      FAIL ?e
    END
    SET "status" AS 422 OF !RESPONSE
    SET ?wrong AS ?e.fields
  END
  IF ?wrong IS NULL THEN
    CALL ask(?m)
  END
END

SELECT name, text, reply FROM messages WHERE state = 'approved' ORDER BY id DESC LIMIT 10
  SET ?answered
CALL page(
  "Contact",
  "/site/contact/_form.html",
  {answered: ?answered, sent: !POST, wrong: ?wrong},
  ?links
)

-- Keeps a question and has the team decide. The visitor, who sees /site/_waiting.html meanwhile, is
-- led to what became of it.
DEFINE ask(?m)
  SET ?now AS NOW()
  SET ?recent AS ADD_TIME(?now, -7, "days")
  -- Each is a job that stands: strangers do not get all that the account has. Counted in the same
  -- statement, so that many at once are no more.
  INSERT INTO messages (name, email, text, at, state)
  SELECT ?m.name, ?m.email, ?m.text, ?now, 'waiting'
  WHERE (SELECT COUNT(*) FROM messages WHERE state = 'waiting' AND at > ?recent) < 20
    SET ?done
  IF ?done.changes = 0 THEN
    SET "status" AS 503 OF !RESPONSE
    CALL page("Please try again tomorrow", "/site/contact/_full.html", {})
    STOP
  END
  START SESSION
  SET "message" AS ?done.last_id OF !SESSION
  SET ?state AS "expired"
  TRY
    CONFIRM "{?m.name} ({?m.email}) asks: {?m.text}" TO "team" WITHIN 7 DAYS SET ?approved
    SET ?state AS CASE WHEN ?approved THEN "approved" ELSE "declined" END
    SET ?reply AS !JOB('answer').note
  CATCH ?e
    IF ?e.code != "expired" THEN
      FAIL ?e
    END
  END
  UPDATE messages SET state = ?state, reply = ?reply WHERE id = ?done.last_id;
  CALL lead_to("/contact/mine")
END
