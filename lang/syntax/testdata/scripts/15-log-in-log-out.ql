START SESSION
IF !REQUEST('path') = "/logout" THEN END SESSION EMIT "Bye" STOP END
SELECT id, name, hash FROM users WHERE email = !POST('email') SET ROW ?u
IF ?u IS NULL OR NOT PASSWORD_MATCHES(!POST('password'), ?u.hash) THEN
  SET "status" AS 401 OF !RESPONSE
  EMIT "Wrong e-mail or password"
  STOP
END
CALL note(?u.id)
SET "user" AS {id: ?u.id, name: ?u.name} OF !SESSION
EMIT "Hello {?u.name}"
DEFINE note(?id) INSERT INTO logins (id) VALUES (?id); END
