IMPORT FILE "/a.txt" INTO people AS LINES
