EMIT {a = 1}
