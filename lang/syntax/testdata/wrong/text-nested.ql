EMIT "a {=UPPER("b)}"
EMIT 1
