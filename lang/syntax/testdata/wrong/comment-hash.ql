# says hello
EMIT "hello"
