READ config SET ?x
