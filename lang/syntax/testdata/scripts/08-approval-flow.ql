SELECT id, amount, supplier FROM invoices WHERE id = !GET('id') SET ROW ?inv
IF ?inv.amount > 1000 THEN
  FETCH !SECRET('slack_hook') METHOD "POST" BODY {text: "Approve {?inv.amount} for {?inv.supplier}? {!JOB('form_url')}"}
  CONFIRM "Pay {?inv.amount} to {?inv.supplier}?" WITHIN 2 DAYS SET ?ok
  IF NOT ?ok THEN FAIL "Payment refused" CODE "refused" END
END
UPDATE invoices SET state = 'paid' WHERE id = ?inv.id;
EMIT "paid"
