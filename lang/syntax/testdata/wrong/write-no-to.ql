WRITE ?x "/a.txt"
