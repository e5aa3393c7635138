WHILE ?x < 3
  SET ?x AS ?x + 1
END
