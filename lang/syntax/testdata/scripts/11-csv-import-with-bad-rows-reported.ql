READ "/import/customers.csv" AS CSV SET ?rows
SET ?bad AS []
SET ?good AS 0
FOR ?i, ?row IN ?rows DO
  TRY
    INSERT INTO customers (name, email, credit) VALUES (?row.name, ?row.email, ?row.credit);
    SET ?good AS ?good + 1
  CATCH ?e
    APPEND {line: ?i + 2, why: ?e.message} TO ?bad
  END
END
EMIT LINE "{?good} imported, {=COUNT(?bad)} refused"
FOR ?b IN ?bad DO EMIT LINE "line {?b.line}: {?b.why}" END
