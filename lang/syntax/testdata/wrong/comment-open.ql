EMIT "a"
/* never closed
EMIT "b"
