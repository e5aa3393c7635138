-- Accounts with a password, and who is logged in kept in the session.
--
--   mkdir -p ql-data
--   ql run examples/login.ql --data ql-data --path /register --post email=ada@example.com --post password=…
--   ql run examples/login.ql --data ql-data --path /login --post email=ada@example.com --post password=…
--   ql run examples/login.ql --data ql-data
--   ql run examples/login.ql --data ql-data --path /logout
START SESSION
CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, hash TEXT NOT NULL);
SET ?email AS LOWER(TRIM(!POST('email')))
SET ?path AS !REQUEST('path')

IF ?path = "/register" THEN
  IF LENGTH(!POST('password')) < 10 THEN
    CALL refuse(400, "A password has at least 10 characters.")
  END
  SET ?hash AS PASSWORD_HASH(!POST('password'))
  TRY
    INSERT INTO users (email, hash) VALUES (?email, ?hash);
  CATCH ?e
    IF ?e.code != "unique" THEN
      FAIL ?e
    END
    CALL refuse(409, "This address has an account already.")
  END
  EMIT LINE "Registered."
ELSE IF ?path = "/login" THEN
  SELECT id, email, hash FROM users WHERE email = ?email SET ROW ?user
  -- One message for both: it must not tell which addresses have an account.
  IF ?user IS NULL OR NOT PASSWORD_MATCHES(!POST('password'), ?user.hash) THEN
    CALL refuse(401, "Wrong e-mail address or password.")
  END
  SET "user" AS PICK(?user, ["id", "email"]) OF !SESSION
  EMIT LINE "Hello, {?user.email}!"
ELSE IF ?path = "/logout" THEN
  END SESSION
  EMIT LINE "Bye."
ELSE
  EMIT LINE CASE
    WHEN !SESSION('user') THEN "You are {!SESSION('user').email}."
    ELSE "Nobody is logged in."
  END
END

-- Answers with a status and ends the script.
DEFINE refuse(?status, ?why)
  SET "status" AS ?status OF !RESPONSE
  EMIT LINE ?why
  STOP
END
