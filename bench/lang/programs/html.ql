-- HTML: a table of 100 000 rows, with what is inserted escaped.
SET ?names AS ["Ada Lovelace", "R&D <Berlin>", "plain", "a < b", "Tom & Jerry > Sam"]
SET ?html AS "<table>"
FOR ?i FROM 0 TO 99_999 DO
  SET ?html AS ?html + HTML "<tr><td>{?i}</td><td>{?names[?i % 5]}</td><td class=n>{=?i * 3}</td></tr>\n"
END
SET ?html AS ?html + "</table>"

EMIT LENGTH(?html)
