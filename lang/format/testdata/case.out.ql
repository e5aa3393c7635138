EMIT CASE WHEN ?a THEN 1 END, CASE WHEN ?a = 1 THEN "x" WHEN ?a = 2 THEN "y" ELSE NULL END
SET ?a AS CASE
  WHEN ?a = 1 THEN "one" -- the first
  -- the second
  WHEN ?a = 2 THEN "two"
  ELSE "many" /* more */
END
SET ?a AS CASE
  WHEN ?a = 1 THEN "a rather long text for one"
  WHEN ?a = 2 THEN "a rather long text for two"
  ELSE "many"
END
