SELECT * FROM products WHERE id = !GET('id') SET ROW ?p
IF ?p IS NULL THEN
  SET "status" AS 404 OF !RESPONSE
  EMIT "No such product"
  STOP
END
EMIT ?p
