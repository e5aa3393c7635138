-- What the pages of the shop share: INCLUDE "/site/shop/_shop.ql".
INCLUDE "/site/_lib/page.ql"
DEFINE links AS [
  {path: "/shop/", label: "Shop"},
  {path: "/shop/cart", label: "Cart"},
  {path: "/shop/orders", label: "My orders"}
]

-- Makes the tables, with a few products.
DEFINE make_shop()
  CREATE TABLE IF NOT EXISTS goods (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price TEXT NOT NULL, stock INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS purchases (id INTEGER PRIMARY KEY, user INTEGER NOT NULL, at TEXT NOT NULL, total TEXT NOT NULL, lines TEXT NOT NULL);
  SELECT COUNT(*) FROM goods SET VALUE ?n
  IF ?n = 0 THEN
    INSERT INTO goods (id, name, price, stock) VALUES (1, 'Fountain pen', '24.90', 10), (2, 'Ink, blue', '7.50', 3), (3, 'Paper, 100 sheets', '4.20', 50)
    ON CONFLICT DO NOTHING;
  END
END

-- What is in the visitor's cart: {lines, total}.
DEFINE cart()
  SET ?counts AS !SESSION('cart') DEFAULT {}
  SET ?ids AS MAP(KEYS(?counts), NUMBER)
  SELECT id, name, price FROM goods WHERE id IN (?ids) ORDER BY id SET ?goods
  SET ?lines AS []
  FOR ?g IN ?goods DO
    SET ?n AS ?counts[TEXT(?g.id)]
    APPEND ?g + {count: ?n, sum: DECIMAL(?g.price) * ?n} TO ?lines
  END
  RETURN {lines: ?lines, total: SUM(COLUMN(?lines, "sum"))}
END
