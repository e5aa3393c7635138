READ "/a.txt" SET ?x AS JSON
