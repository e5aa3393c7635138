FUNCTION add(?a, ?b)
  RETURN ?a + ?b
END
EMIT add(1, 2)
