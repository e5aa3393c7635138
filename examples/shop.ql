-- Makes the tables that some of the other examples work on, with a few rows in
-- each. It may be run again: what is there stays as it is.
--
--   mkdir -p ql-data
--   ql run examples/shop.ql --data ql-data
CREATE TABLE IF NOT EXISTS products (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  price REAL NOT NULL CHECK (price >= 0)
);
CREATE TABLE IF NOT EXISTS orders (
  id INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  day TEXT NOT NULL,
  total REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS invoices (
  id INTEGER PRIMARY KEY,
  supplier TEXT NOT NULL,
  amount REAL NOT NULL,
  state TEXT NOT NULL DEFAULT 'open'
);

INSERT INTO products (id, name, price)
VALUES (1, 'Pen', 2.5), (2, 'Ink', 7), (3, 'Paper', 4), (4, 'Ruler', 3), (5, 'Eraser', 1.2)
ON CONFLICT DO NOTHING;
INSERT INTO orders (id, customer, day, total)
VALUES (1, 'Ada', '2026-05-03', 12.5), (2, 'Bob', '2026-05-20', 7), (3, 'Ada', '2026-06-01', 30)
ON CONFLICT DO NOTHING;
INSERT INTO invoices (id, supplier, amount)
VALUES (1, 'Paper mill', 420), (2, 'Print house', 1800)
ON CONFLICT DO NOTHING;

SELECT COUNT(*) FROM products SET VALUE ?products
SELECT COUNT(*) FROM orders SET VALUE ?orders
SELECT COUNT(*) FROM invoices SET VALUE ?invoices
EMIT LINE "{?products} products, {?orders} orders, {?invoices} invoices"
