READ "/a" SET ?x
READ "/a.json" AS JSON SET ?x
READ "/a" OPTIONAL AS CSV SET ?x
READ "/a" AS TEXT OPTIONAL SET ?x
READ "/a" AS LINES SET ?x
READ "/a" AS BYTES SET ?x
WRITE ?x TO "/b"
WRITE ?x AS CSV TO "/b.csv"
LIST "/dir" SET ?files
COPY "/a" TO "/b"
COPY "/a.png" TO "a.png" ON "studio"
COPY "a" ON "studio" TO "/a"
COPY "a" ON "x" TO "b" ON "y"
MOVE "/a" TO "/b"
REMOVE "/a" + ?x
