-- Lists the products page by page, as JSON. Wants the tables of shop.ql.
--
--   ql run examples/products.ql --data ql-data --get page=2 --get size=2
SET ?size AS CLAMP(NUMBER(!GET('size')) DEFAULT 20, 1, 100)
SET ?page AS MAX(1, NUMBER(!GET('page')) DEFAULT 1)
SET ?skip AS (?page - 1) * ?size
SELECT id, name, price FROM products ORDER BY id LIMIT ?size OFFSET ?skip SET ?products
SELECT COUNT(*) FROM products SET VALUE ?total

SET "header:Content-Type" AS "application/json" OF !RESPONSE
EMIT LINE {page: ?page, pages: CEIL(?total / ?size), total: ?total, products: ?products}
