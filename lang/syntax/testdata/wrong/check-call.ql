check(1)
