emit   "a"  ,1,?x   emit line emit line "b",  "c"; ; emit LINE(1)
emit  json{a:?x} emit JSON(?x) emit json
  [ 1 , 2]
set ?x as 1
EMIT "a long text that takes some room in the line", "another long text that takes some more room", ?x, 1 + 2
