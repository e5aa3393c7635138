-- Logs a visitor in, or makes a user of one.
INCLUDE "/site/shop/_shop.ql"
INCLUDE "/site/_lib/login.ql" AS users
IF !REQUEST('method') = "POST" THEN
  TRY
    CHECK !POST FIELDS
      email    EMAIL REQUIRED MAX 200,
      password SECRET REQUIRED MIN 10 MAX 64,
      do       CHOICE ["login", "register"] REQUIRED
    SET ?form
    IF ?form.do = "register" THEN
      SET ?refused AS users.register(?form.email, ?form.password)
    ELSE
      SET ?refused AS users.log_in(?form.email, ?form.password)
    END
  CATCH ?e
    IF ?e.code != "invalid_fields" THEN
      FAIL ?e
    END
    SET ?refused AS "That cannot be right: a password has 10 to 64 characters."
    IF "email" IN ?e.fields THEN
      SET ?refused AS "The e-mail address {?e.fields.email}."
    END
  END
  IF ?refused IS NULL THEN
    CALL flash("Hello, {!SESSION('user').email}.")
    CALL lead_to(CASE WHEN !SESSION('cart') THEN "/shop/cart" ELSE "/shop/orders" END)
  END
  SET "status" AS 422 OF !RESPONSE
END
CALL page("Log in", "/site/shop/_login.html", {email: !POST('email'), refused: ?refused}, links)
