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
SET ?bad AS []
SET ?good AS 0
-- One transaction for all rows is many times faster than one for each.
TRANSACTION
  FOR ?i, ?row IN ?rows DO
    TRY
      SET ?credit AS NUMBER(?row.credit) DEFAULT 0
      INSERT INTO customers (name, email, credit) VALUES (?row.name, ?row.email, ?credit);
      SET ?good AS ?good + 1
    CATCH ?e
      APPEND {line: ?i + 2, why: ?e.message} TO ?bad
    END
  END
END
EMIT LINE "{?good} taken, {=COUNT(?bad)} refused"
FOR ?b IN ?bad DO
  EMIT LINE "line {?b.line}: {?b.why}"
END
