set ?a as ?x default 0+1
set ?b as 1 + ?x default 0 * ?y default 2 -- both
set ?c as (?x default 0) + 1
emit "{=?x default 1 % 2}", ?x default 1 > 2, -?x default 3
