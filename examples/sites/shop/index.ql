-- What the shop has.
INCLUDE "/site/shop/_shop.ql"
CALL make_shop()
SELECT id, name, price, stock FROM goods ORDER BY name SET ?goods
CALL page("Shop", "/site/shop/_goods.html", {goods: ?goods}, links)
