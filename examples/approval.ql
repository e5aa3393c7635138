-- Pays an invoice. A large one must be approved by a person first, who has two days
-- for it. Wants the tables of shop.ql.
--
--   ql run examples/approval.ql --data ql-data --get id=2
--
-- On a service whoever knows the id of the job may answer, also the program that started
-- it. Where that must not be, the account asks for credentials:
--
--   ql account set ada require_auth_on_jobs=true
SELECT id, supplier, amount, state FROM invoices WHERE id = !GET('id') SET ROW ?invoice
IF ?invoice IS NULL THEN
  SET "status" AS 404 OF !RESPONSE
  EMIT LINE "There is no such invoice."
  STOP
END
IF ?invoice.state = "paid" THEN
  EMIT LINE "Invoice {?invoice.id} is paid already."
  STOP
END

IF ?invoice.amount > 1000 THEN
  CONFIRM "Pay {?invoice.amount} to {?invoice.supplier}?" WITHIN 2 DAYS SET ?approved
  IF NOT ?approved THEN
    FAIL "The payment was refused." CODE "refused"
  END
END

-- Days may have passed since the invoice was read: somebody else may have paid it.
UPDATE invoices SET state = 'paid' WHERE id = ?invoice.id AND state = 'open' SET ?done
EMIT LINE CASE WHEN ?done.changes = 1 THEN "Paid." ELSE "Somebody else paid it meanwhile." END
