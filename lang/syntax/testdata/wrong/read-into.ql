READ "/a.txt" INTO ?x
