EMIT "hello
EMIT "you"
