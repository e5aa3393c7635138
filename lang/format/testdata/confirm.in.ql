confirm "Go on?" confirm "Go on?" within 2 day set ?ok
confirm "Shall the invoice over {?ok} be paid to the supplier today, before the bank closes?" within 1 days set ?ok
