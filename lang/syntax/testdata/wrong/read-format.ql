READ "/a.txt" AS JSNO SET ?x
