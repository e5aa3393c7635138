-- Orders what is in the cart.
INCLUDE "/site/shop/_shop.ql"
START SESSION
IF !REQUEST('method') != "POST" THEN
  CALL lead_to("/shop/cart")
END
SET ?user AS !SESSION('user')
IF ?user IS NULL THEN
  CALL flash("Please log in first. Your cart stays as it is.")
  CALL lead_to("/shop/login")
END
CALL make_shop()
SET ?cart AS cart()
IF NOT ?cart.lines THEN
  CALL lead_to("/shop/cart")
END

SET ?now AS NOW()
TRY
  TRANSACTION
    FOR ?line IN ?cart.lines DO
      UPDATE goods SET stock = stock - ?line.count WHERE id = ?line.id AND stock >= ?line.count
        SET ?done
      IF ?done.changes = 0 THEN
        FAIL "There are not so many left: {?line.name}." CODE "sold_out"
      END
    END
    INSERT INTO purchases (user, at, total, lines) VALUES (?user.id, ?now, ?cart.total, ?cart.lines);
  END
CATCH ?e
  IF ?e.code != "sold_out" THEN
    FAIL ?e
  END
  CALL flash(?e.message)
  CALL lead_to("/shop/cart")
END
UNSET "cart" OF !SESSION
CALL flash("Thank you. Your order is on its way.")
CALL lead_to("/shop/orders")
