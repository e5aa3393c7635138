-- Logs the visitor out.
INCLUDE "/site/shop/_shop.ql"
IF !REQUEST('method') = "POST" THEN
  START SESSION
  END SESSION
  CALL flash("You are logged out.")
END
CALL lead_to("/shop/")
