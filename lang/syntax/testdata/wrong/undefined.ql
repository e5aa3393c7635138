SET ?x AS undefined
