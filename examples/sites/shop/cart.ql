-- The visitor's cart, kept in the session. POST changes it.
INCLUDE "/site/shop/_shop.ql"
CALL make_shop()
START SESSION
IF !REQUEST('method') = "POST" THEN
  CHECK !POST FIELDS
    add     INTEGER,
    product INTEGER,
    count   INTEGER MIN 0 MAX 99
  SET ?change
  SET ?id AS ?change.add DEFAULT ?change.product
  SELECT name FROM goods WHERE id = ?id SET VALUE ?name
  IF ?name IS NULL THEN
    CALL not_found()
  END
  SET ?cart AS !SESSION('cart') DEFAULT {}
  SET ?key AS TEXT(?id)
  SET ?count AS CASE
    WHEN ?change.add THEN MIN(99, (?cart[?key] DEFAULT 0) + 1)
    ELSE ?change.count DEFAULT 0
  END
  IF ?count = 0 THEN
    UNSET ?cart[?key]
  ELSE
    SET ?cart[?key] AS ?count
  END
  SET "cart" AS ?cart OF !SESSION
  CALL flash(
    CASE WHEN ?change.add THEN "{?name} is in your cart." ELSE "Your cart was changed." END
  )
  CALL lead_to("/shop/cart")
END
CALL page("Cart", "/site/shop/_cart.html", cart() + {user: !SESSION('user')}, links)
