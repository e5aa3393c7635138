EMIT "a {=1 +
2}"
EMIT 1
