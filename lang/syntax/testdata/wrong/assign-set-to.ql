SET ?x TO 1
