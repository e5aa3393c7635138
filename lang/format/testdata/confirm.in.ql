confirm "Go on?" confirm "Go on?" within 2 day set ?ok
confirm "Shall the invoice over {?ok} be paid to the supplier today, before the bank closes?" within 1 days set ?ok
confirm "Pay?" to "finance" set ?ok
confirm "Pay?"   within 1 day to   ?team
confirm "a very long question that goes on and on, to see how it is broken" to "the people in finance" within 1 day set ?ok
