EMIT MAP(?l, lambda x: x)
