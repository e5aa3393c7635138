EMIT hello
