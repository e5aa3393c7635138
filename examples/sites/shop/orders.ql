-- What the user has ordered.
INCLUDE "/site/shop/_shop.ql"
START SESSION
SET ?user AS !SESSION('user')
IF ?user IS NULL THEN
  CALL lead_to("/shop/login")
END
CALL make_shop()
SELECT id, at, total, lines FROM purchases WHERE user = ?user.id ORDER BY id DESC LIMIT 50 SET ?rows
SET ?orders AS MAP(
  ?rows,
  ?r -> ?r + {day: FORMAT_TIME(?r.at, "D MMMM YYYY"), lines: FROM_JSON(?r.lines)}
)
CALL page("My orders", "/site/shop/_orders.html", {user: ?user, orders: ?orders}, links)
