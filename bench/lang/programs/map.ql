-- Maps: a million text keys put in, then each built again and looked up.
SET ?map AS {}
FOR ?i FROM 0 TO 999_999 DO
  SET ?map["k{?i}"] AS ?i
END
SET ?sum AS 0
FOR ?i FROM 0 TO 999_999 DO
  SET ?sum AS ?sum + ?map["k{?i}"]
END

EMIT ?sum
