EMIT MAP(?l, x -> x)
