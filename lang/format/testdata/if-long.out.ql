SET ?customer AS {}
IF ?customer.country = "Germany"
    AND ?customer.age >= 18
    AND ?customer.newsletter
    AND NOT ?customer.blocked THEN
  EMIT 1
END
WHILE ?customer.country IN ["Germany", "France"]
    OR (?customer.age >= 18 AND ?customer.newsletter)
    OR ?customer.vip DO
  BREAK
END
IF ?customer.country IN [
  "Germany",
  "France"
] THEN
  EMIT 1
END
