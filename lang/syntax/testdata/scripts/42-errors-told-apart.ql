TRY
  INSERT INTO users (email) VALUES (!POST('email'));
CATCH ?e
  IF ?e.code = "unique" THEN
    EMIT "This address is already registered."
  ELSE
    FAIL ?e
  END
END
