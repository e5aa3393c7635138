-- Takes customers from a CSV file into a database. Rows that do not fit are
-- reported with their line, the others are kept.
--
--   mkdir -p ql-data/import
--   printf 'name,email,credit\nAda,ada@example.com,100\n' > ql-data/import/customers.csv
--   ql run examples/import.ql --data ql-data
CREATE TABLE IF NOT EXISTS customers (
  email TEXT PRIMARY KEY,
  name TEXT NOT NULL CHECK (name != ''),
  credit REAL NOT NULL
);
READ "/import/customers.csv" SET ?rows
READ "/import/customers.csv" AS LINES SET ?lines
-- The line where the row after another begins: cells may have line breaks, and
-- empty lines are no rows.
DEFINE following(?line, ?cells, ?lines)
  SET ?line AS ?line + 1 + SUM(MAP(?cells, ?c -> LENGTH(?c) - LENGTH(REPLACE(?c, "\n", ""))))
  WHILE ?lines[?line - 1] = "" DO
    SET ?line AS ?line + 1
  END
  RETURN ?line
END
SET ?line AS following(following(0, [], ?lines), KEYS(?rows[0] DEFAULT {}), ?lines)
SET ?bad AS []
SET ?good AS 0
-- One transaction for all rows is many times faster than one for each.
TRANSACTION
  FOR ?row IN ?rows DO
    TRY
      SET ?credit AS NUMBER(?row.credit) DEFAULT 0
      INSERT INTO customers (name, email, credit) VALUES (?row.name, ?row.email, ?credit);
      SET ?good AS ?good + 1
    CATCH ?e
      APPEND {line: ?line, why: ?e.message} TO ?bad
    END
    SET ?line AS following(?line, VALUES(?row), ?lines)
  END
END
EMIT LINE "{?good} taken, {=COUNT(?bad)} refused"
FOR ?b IN ?bad DO
  EMIT LINE "line {?b.line}: {?b.why}"
END
