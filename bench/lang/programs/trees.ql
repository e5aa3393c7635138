-- Small lists: binary trees built and counted, one of them kept all the while.
DEFINE tree(?depth)
  IF ?depth = 0 THEN
    RETURN [null, null]
  END
  RETURN [tree(?depth - 1), tree(?depth - 1)]
END

DEFINE nodes(?tree)
  IF ?tree[0] IS NULL THEN
    RETURN 1
  END
  RETURN 1 + nodes(?tree[0]) + nodes(?tree[1])
END

SET ?kept AS tree(12)
SET ?count AS 0
FOR ?depth FROM 4 TO 12 STEP 2 DO
  FOR ?round FROM 1 TO POWER(2, 14 - ?depth) DO
    SET ?count AS ?count + nodes(tree(?depth))
  END
END

EMIT ?count + nodes(?kept)
