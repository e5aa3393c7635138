EMIT 1
IF TRUE THEN
  EMIT 2
  EMIT """
    a
    """
END
