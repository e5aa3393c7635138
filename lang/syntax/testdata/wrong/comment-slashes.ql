// says hello
EMIT "hello" // to you
EMIT "bye"
