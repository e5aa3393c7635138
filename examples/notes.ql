-- A small JSON API of notes: GET /notes, GET /notes/1, POST /notes, DELETE /notes/1.
--
--   mkdir -p ql-data
--   ql run examples/notes.ql --data ql-data --path /notes --body '{"text": "Buy ink"}'
--   ql run examples/notes.ql --data ql-data --path /notes
--   ql run examples/notes.ql --data ql-data --path /notes/1 --method DELETE
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
SET "header:Content-Type" AS "application/json" OF !RESPONSE
SET ?found AS FIND(!REQUEST('path'), '^/notes(?:/(\d+))?$')
IF ?found IS NULL THEN
  CALL answer(404, {error: "there is nothing at {!REQUEST('path')}"})
END
SET ?id AS NUMBER(?found.groups[0])

IF !REQUEST('method') = "GET" AND ?id IS NULL THEN
  SELECT id, text FROM notes ORDER BY id SET ?notes
  CALL answer(200, {notes: ?notes})
END
IF !REQUEST('method') = "POST" AND ?id IS NULL THEN
  TRY
    SET ?text AS TRIM(FROM_JSON(!REQUEST('body')).text)
  CATCH ?e
    CALL answer(400, {error: ?e.message})
  END
  IF NOT ?text THEN
    CALL answer(400, {error: "a note needs a text"})
  END
  INSERT INTO notes (text) VALUES (?text) RETURNING id, text SET ROW ?note
  CALL answer(201, ?note)
END

SELECT id, text FROM notes WHERE id = ?id SET ROW ?note
IF ?id IS NOT NULL AND ?note IS NULL THEN
  CALL answer(404, {error: "there is no note {?id}"})
END
IF !REQUEST('method') = "GET" THEN
  CALL answer(200, ?note)
END
IF !REQUEST('method') = "DELETE" AND ?id IS NOT NULL THEN
  DELETE FROM notes WHERE id = ?id;
  CALL answer(200, {deleted: ?id})
END
CALL answer(405, {error: "{!REQUEST('method')} does not work here"})

-- Answers and ends the script.
DEFINE answer(?status, ?body)
  SET "status" AS ?status OF !RESPONSE
  EMIT LINE ?body
  STOP
END
