SET ?x AS None
