EMIT 1 + NOT ?x
