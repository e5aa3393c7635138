SET ?m AS {a: 1, b: 2
EMIT ?m
