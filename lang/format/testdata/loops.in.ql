for ?x in [1,2] do emit ?x end
for ?k,?v in {a:1} do emit ?k , ?v end
for ?i from 1 to 10 do continue end
for ?i from 10 to 1 step -1 do break end
while ?i<10 do set ?i as ?i+1 end
for ?x in [] do for ?y in [] do while true do stop end end end
for ?r in file "/a.csv" do emit ?r end
for ?r in file ?path bad ?b at ?n as json lines encoding "utf-16" do emit ?r end
for ?row in file "/a/rather/long/path/of/a/file/{?name}/{?year}.csv" as csv encoding "windows-1252" at ?line bad ?bad do emit ?row end
