-- Writes an invoice with the next number of its year. The number is taken and the
-- invoice written in one transaction: no number is used twice, and none is lost
-- when something is wrong with the invoice.
--
--   mkdir -p ql-data
--   ql run examples/invoice.ql --data ql-data --get customer=Ada --get total=12.50
CREATE TABLE IF NOT EXISTS numbers (year INTEGER PRIMARY KEY, last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS bills (
  number TEXT PRIMARY KEY,
  customer TEXT NOT NULL,
  total REAL NOT NULL CHECK (total > 0)
);
SET ?year AS NUMBER(!GET('year')) DEFAULT YEAR(NOW())
SET ?total AS NUMBER(!GET('total'))
TRANSACTION
  INSERT INTO numbers (year, last)
  VALUES (?year, 1)
  ON CONFLICT (year) DO UPDATE SET last = last + 1
  RETURNING last
    SET VALUE ?last
  SET ?number AS "{?year}-{=PAD_LEFT(?last, 4, "0")}"
  INSERT INTO bills (number, customer, total) VALUES (?number, !GET('customer'), ?total);
END
EMIT LINE "Invoice {?number} for {!GET('customer')}: {=FORMAT_NUMBER(?total, 2)}"
