LET x = 1
