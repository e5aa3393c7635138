total = 5 + 3
