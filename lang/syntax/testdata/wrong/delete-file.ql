DELETE FILE "/a.txt"
