append 1 to ?list append {a:1,b:[1,2]} to ?list.items[0]
append "x" to file "/log.txt" append line to_json({at:now()}) to file "/log.jsonl"
append line "x" to file ?p+"/a"
append (line("x")) to ?list
set ?list as [] set ?p as "/x"
