IF ?a DO
  EMIT "a"
END
