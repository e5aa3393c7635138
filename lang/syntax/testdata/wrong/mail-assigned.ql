mail = 1
