EMIT 2 ** 8
