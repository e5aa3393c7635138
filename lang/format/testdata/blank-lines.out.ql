EMIT 1

EMIT 2
EMIT 3

-- comment

-- comment

EMIT 4

IF TRUE THEN
  EMIT 5

  -- end
ELSE
  -- empty
END
