-- Texts: a hundred thousand built, kept in a list and joined, five times over.
SET ?total AS 0
FOR ?round FROM 1 TO 5 DO
  SET ?parts AS []
  FOR ?i FROM 0 TO 99_999 DO
    APPEND "item{?i}" TO ?parts
  END
  SET ?total AS ?total + LENGTH(JOIN(?parts, ","))
END

EMIT ?total
