-- Takes the orders of the day from a CSV file, and mails a report of them. A schedule starts it each
-- night; without a new file it says so, and imports nothing twice.
--
--   ql script publish ada nightly examples/nightly.ql
--   ql schedule set ada nightly nightly --cron "30 2 * * *" --zone Europe/Berlin --input '{"to": "ada@example.com"}'
--   ql run examples/nightly.ql --input to=ada@example.com   (and see what it cannot do alone)
INPUT FIELDS to EMAIL REQUIRED
CREATE TABLE IF NOT EXISTS nightly_orders (id TEXT PRIMARY KEY, item TEXT NOT NULL, total REAL NOT NULL);
READ "/import/orders.csv" AS TEXT OPTIONAL SET ?file
IF ?file IS NULL THEN
  MAIL TO !INPUT.to SUBJECT "No orders" TEXT "There was no file of orders this night."
  EMIT JSON {imported: 0}
  STOP
END
SET ?bad AS []
SET ?before AS 0
SELECT COUNT(*) FROM nightly_orders SET VALUE ?before
FOR ?row IN FILE "/import/orders.csv" AT ?line BAD ?broken DO
  TRY
    SET ?total AS NUMBER(?row.total)
    INSERT OR IGNORE INTO nightly_orders (id, item, total) VALUES (?row.id, ?row.item, ?total);
  CATCH ?e
    APPEND "line {?line}: {?e.message}" TO ?bad
  END
END
FOR ?b IN ?broken DO
  APPEND "line {?b.line}: {?b.message}" TO ?bad
END
SELECT COUNT(*) AS orders, TOTAL(total) AS revenue FROM nightly_orders SET ROW ?all
SET ?new AS ?all.orders - ?before
MAIL TO !INPUT.to
  SUBJECT "{?new} orders, {=COUNT(?bad)} refused"
  TEXT "New: {?new}\nAll: {?all.orders}, {=FORMAT_NUMBER(?all.revenue, 2)} EUR\n{=JOIN(?bad, "\n")}"
-- Last of all: where the script does not get here, the next one finds the file, and rows that are there stay.
MOVE "/import/orders.csv" TO "/import/done/{!JOB('id')}.csv"
EMIT JSON {imported: ?new, refused: COUNT(?bad)}
