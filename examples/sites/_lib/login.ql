-- Users with passwords: INCLUDE "/site/_lib/login.ql". Who is logged in stands in the session,
-- as "user": {id, email}.
DEFINE wrong AS "Wrong e-mail address or password."
DEFINE slower AS "Too many tries. Wait a few minutes, then try again."

-- Logs a user in. Gives null, or what to tell the visitor.
DEFINE log_in(?email, ?password)
  CALL make_users()
  SET ?email AS LOWER(?email)
  SET ?network AS "network {!REQUEST('ip')}"
  IF NOT (may_try(?network, 20) AND may_try("user {?email}", 4)) THEN
    RETURN slower
  END
  SELECT id, email, hash FROM users WHERE email = ?email SET ROW ?user
  -- As much work for an address without a user: the time must not tell which have one.
  IF ?user IS NULL THEN
    SET ?unused AS PASSWORD_HASH(?password)
    RETURN wrong
  END
  IF NOT PASSWORD_MATCHES(?password, ?user.hash) THEN
    RETURN wrong
  END
  DELETE FROM login_tries WHERE who = 'user ' || ?email;
  SET ?now AS TO_UNIX(NOW())
  UPDATE login_tries SET n = n - 1, next = ?now WHERE who = ?network;
  CALL enter(?user)
END

-- Makes a user, who is logged in then. Gives null, or what to tell the visitor.
DEFINE register(?email, ?password)
  CALL make_users()
  IF NOT may_try("network {!REQUEST('ip')}", 20) THEN
    RETURN slower
  END
  SET ?email AS LOWER(?email)
  SET ?hash AS PASSWORD_HASH(?password)
  TRY
    INSERT INTO users (email, hash) VALUES (?email, ?hash) SET ?done
  CATCH ?e
    IF ?e.code != "unique" THEN
      FAIL ?e
    END
    RETURN "This address has a user already."
  END
  CALL enter({id: ?done.last_id, email: ?email})
END

-- Logs in, in a session with a new id that keeps what the old one held: whoever knew the old id,
-- or had the visitor take it, is not let in with them.
DEFINE enter(?user)
  START SESSION
  SET ?kept AS !SESSION
  END SESSION
  START SESSION
  FOR ?key, ?value IN ?kept DO
    SET "{?key}" AS ?value OF !SESSION
  END
  SET "user" AS PICK(?user, ["id", "email"]) OF !SESSION
END

-- Counts a try, unless it comes too early: after some free ones each has to wait twice as long as
-- the one before, up to five minutes. It counts before the password is looked at, so that tries
-- at the same time do not slip through together.
DEFINE may_try(?who, ?free)
  SET ?now AS TO_UNIX(NOW())
  DELETE FROM login_tries WHERE next < ?now - 86400;
  INSERT INTO login_tries (who, n, next) VALUES (?who, 1, ?now)
  ON CONFLICT (who) DO UPDATE SET
    n = n + 1,
    next = ?now + CASE WHEN n < ?free THEN 0 WHEN n - ?free > 8 THEN 300 ELSE 1 << (n - ?free) END
  WHERE next <= ?now
  RETURNING n
    SET VALUE ?counted
  RETURN ?counted IS NOT NULL
END

DEFINE make_users()
  CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, hash TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS login_tries (who TEXT PRIMARY KEY, n INTEGER NOT NULL, next INTEGER NOT NULL);
END
