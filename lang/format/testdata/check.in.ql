check ?x fields a text
check (?x) fields a text required,b integer min 1 max(10) set ?y
CHECK {a:1} FIELDS a INTEGER, -- the first
  longer LONG TEXT label "L",
 c choice["a","b"]  default "a" set ?clean
emit check( 1 )
check ?request.body.items[0].address FIELDS street TEXT REQUIRED MAX 200, city TEXT REQUIRED MAX 100 SET ?address
