APPEND 1 TO ?list
APPEND {a: 1, b: [1, 2]} TO ?list.items[0]
APPEND "x" TO FILE "/log.txt"
APPEND LINE TO_JSON({at: NOW()}) TO FILE "/log.jsonl"
APPEND LINE "x" TO FILE ?p + "/a"
APPEND (line("x")) TO ?list
SET ?list AS []
SET ?p AS "/x"
