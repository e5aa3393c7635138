DELETE "/a.txt"
