read "/a" set ?x read "/a.json" as json set ?x read "/a" optional as csv set ?x read "/a" as text optional set ?x
read "/a" as lines set ?x read "/a" as bytes set ?x
write ?x to "/b" write ?x as csv to "/b.csv" list "/dir" set ?files
copy "/a" to "/b" copy "/a.png" to "a.png" on "studio" copy "a" on "studio" to "/a" copy "a" on "x" to "b" on "y"
move "/a" to "/b" remove "/a"+?x
