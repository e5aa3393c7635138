set ?a as [] set ?a as [ ] set ?a as [1,2,3] set ?a as [1,2,]
set ?a as [
] 
set ?a as [1,
2, 3]
set ?a as [[1,2],[3,
4],]
set ?a as ["a text that takes some room", "another text that takes some room", "a third text that takes room"]
