IF ?a > 1:
  EMIT "a"
END
