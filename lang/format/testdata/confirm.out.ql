CONFIRM "Go on?"
CONFIRM "Go on?" WITHIN 2 DAYS SET ?ok
CONFIRM "Shall the invoice over {?ok} be paid to the supplier today, before the bank closes?"
  WITHIN 1 DAY
  SET ?ok
