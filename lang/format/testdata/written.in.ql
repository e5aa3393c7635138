-- A script in the written form stays as it is.
DEFINE net(?gross, ?rate DEFAULT 0.19)
  RETURN ROUND(?gross / (1 + ?rate), 2)
END

GATHER "Where shall we ship?" FIELDS
  name  TEXT REQUIRED,
  email EMAIL REQUIRED, -- for the receipt
  qty   INTEGER MIN 1 MAX 10 DEFAULT 1
WITHIN 7 DAYS
SET ?form

SELECT id, total
FROM orders
WHERE email = ?form.email
  SET ?orders

FOR ?i, ?o IN ?orders DO
  IF ?o.total > 100 THEN
    EMIT LINE HTML """
      <p>{?o.id}</p>
        <b>{=net(?o.total)}</b>
      """
  ELSE IF ?o.total IS NULL THEN
    CONTINUE
  ELSE
    -- nothing to say
  END
END
