IF ?a THEN
  echo "one"
ELSEIF ?b THEN
  EMIT 1
END
