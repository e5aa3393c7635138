CONFIRM "Go on?"
CONFIRM "Go on?" WITHIN 2 DAYS SET ?ok
CONFIRM "Shall the invoice over {?ok} be paid to the supplier today, before the bank closes?"
  WITHIN 1 DAY
  SET ?ok
CONFIRM "Pay?" TO "finance" SET ?ok
CONFIRM "Pay?" WITHIN 1 DAY TO ?team
CONFIRM "a very long question that goes on and on, to see how it is broken"
  TO "the people in finance"
  WITHIN 1 DAY
  SET ?ok
