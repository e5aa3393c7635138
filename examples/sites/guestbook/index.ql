-- A guestbook: GET shows it, POST adds an entry and leads back.
INCLUDE "/site/_lib/page.ql"
DEFINE on_page AS 10

CREATE TABLE IF NOT EXISTS guestbook (id INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, at TEXT NOT NULL);
IF !REQUEST('method') = "POST" THEN
  TRY
    CHECK !POST FIELDS name TEXT REQUIRED MAX 60, text LONG TEXT REQUIRED MAX 1000 SET ?entry
    SET ?now AS NOW()
    -- Strangers write here: what they can fill is bounded.
    TRANSACTION
      INSERT INTO guestbook (name, text, at) VALUES (?entry.name, ?entry.text, ?now) SET ?done
      DELETE FROM guestbook WHERE id <= ?done.last_id - 1000;
    END
    CALL flash("Thank you, {?entry.name}.")
    CALL lead_to("/guestbook/")
  CATCH ?e
    IF ?e.code != "invalid_fields" THEN
      FAIL ?e
    END
    SET "status" AS 422 OF !RESPONSE
    SET ?wrong AS ?e.fields
  END
END

SET ?most AS on_page + 1
SET ?before AS NUMBER(!GET('before'), NULL)
SELECT id, name, text, at FROM guestbook WHERE ?before IS NULL OR id < ?before ORDER BY id DESC LIMIT ?most
  SET ?rows
SET ?entries AS MAP(SLICE(?rows, 0, on_page), ?r -> ?r + {day: FORMAT_TIME(?r.at, "D MMMM YYYY")})
SET ?older AS CASE WHEN COUNT(?rows) > on_page THEN LAST(?entries).id END
CALL page("Guestbook", "/site/guestbook/_list.html", {
  entries: ?entries,
  older: ?older,
  sent: !POST,
  wrong: ?wrong
})
