SET ?x += 1
