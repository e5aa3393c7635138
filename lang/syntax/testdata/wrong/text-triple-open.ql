EMIT "a"
EMIT """
hello
