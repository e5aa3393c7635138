-- A text that a visitor is shown once, on the next page: INCLUDE "/site/_lib/flash.ql".

-- Keeps the text in the session. The cookie says that there is one: without it
-- take_flash would make a session for whoever comes by.
DEFINE flash(?text)
  START SESSION
  SET "flash" AS ?text OF !SESSION
  SET "flash" AS "1" OF !COOKIE
END

-- The text that is kept, or null. It is gone then.
DEFINE take_flash()
  IF !COOKIE('flash') IS NULL THEN
    RETURN
  END
  START SESSION
  SET ?text AS !SESSION('flash')
  UNSET "flash" OF !SESSION
  UNSET "flash" OF !COOKIE
  RETURN ?text
END
