-- A todo API in one file, with routes, validation and the right statuses: GET and POST
-- /items, and GET, PATCH and DELETE /items/1. Published, it is an HTTP endpoint:
--
--   ql script publish ada todo examples/todo.ql --callers anyone
--   curl http://127.0.0.1:8080/run/ada/todo/items -H 'Content-Type: application/json' -d '{"text": "Buy ink"}'
--
-- and without a service:
--
--   mkdir -p ql-data
--   ql run examples/todo.ql --data ql-data --path /items --header content-type=application/json --body '{"text": "Buy ink"}'
--   ql run examples/todo.ql --data ql-data --path /items
CREATE TABLE IF NOT EXISTS todos (id INTEGER PRIMARY KEY, text TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0);
SET ?method AS !REQUEST('method')
SET ?route AS FIND(!REQUEST('path'), '^/items(?:/(\d{1,15}))?$')
IF ?route IS NULL THEN
  CALL answer(404, {error: "there is nothing at {!REQUEST('path')}"})
END
SET ?id AS NUMBER(?route.groups[0])

IF ?id IS NULL THEN
  IF ?method = "GET" THEN
    SELECT * FROM todos ORDER BY id SET ?rows
    CALL answer(200, {items: MAP(?rows, ?row -> shown(?row))})
  END
  CALL need(?method, ["GET", "POST"])
  TRY
    CHECK !BODY FIELDS text TEXT REQUIRED MAX 200 SET ?new
  CATCH ?err
    CALL refuse(?err)
  END
  INSERT INTO todos (text) VALUES (?new.text) RETURNING * SET ROW ?item
  SET "header:Location" AS "{!REQUEST('base')}/items/{?item.id}" OF !RESPONSE
  CALL answer(201, shown(?item))
END

CALL need(?method, ["GET", "PATCH", "DELETE"])
SELECT * FROM todos WHERE id = ?id SET ROW ?item
IF ?item IS NULL THEN
  CALL answer(404, {error: "there is no item {?id}"})
END
IF ?method = "DELETE" THEN
  DELETE FROM todos WHERE id = ?id;
  CALL answer(204, NULL)
END
IF ?method = "PATCH" THEN
  TRY
    CHECK !BODY FIELDS text TEXT MAX 200, done BOOLEAN SET ?change
  CATCH ?err
    CALL refuse(?err)
  END
  SET ?text AS ?change.text DEFAULT ?item.text
  SET ?done AS ?change.done DEFAULT (?item.done = 1)
  UPDATE todos SET text = ?text, done = ?done WHERE id = ?id RETURNING * SET ROW ?item
END
CALL answer(200, shown(?item))

-- An item as callers see it.
DEFINE shown(?item)
  RETURN {id: ?item.id, text: ?item.text, done: ?item.done = 1}
END

-- Refuses a method that an address does not take.
DEFINE need(?method, ?methods)
  IF ?method NOT IN ?methods THEN
    SET "header:Allow" AS JOIN(?methods, ", ") OF !RESPONSE
    CALL answer(405, {error: "{?method} does not work here"})
  END
END

-- Refuses what does not fit, field by field.
DEFINE refuse(?err)
  CALL answer(422, {error: ?err.message, fields: ?err.fields})
END

-- Answers and ends the script.
DEFINE answer(?status, ?body)
  SET "status" AS ?status OF !RESPONSE
  IF ?body IS NOT NULL THEN
    EMIT JSON ?body
  END
  STOP
END
