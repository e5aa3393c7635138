IF ?a THEN
  INCLUDE "/a.ql"
END
