START "a"
