FOR ?x IN [1, 2] DO
  EMIT ?x
END
FOR ?k, ?v IN {a: 1} DO
  EMIT ?k, ?v
END
FOR ?i FROM 1 TO 10 DO
  CONTINUE
END
FOR ?i FROM 10 TO 1 STEP -1 DO
  BREAK
END
WHILE ?i < 10 DO
  SET ?i AS ?i + 1
END
FOR ?x IN [] DO
  FOR ?y IN [] DO
    WHILE TRUE DO
      STOP
    END
  END
END
FOR ?r IN FILE "/a.csv" DO
  EMIT ?r
END
FOR ?r IN FILE ?path BAD ?b AT ?n AS JSON LINES ENCODING "utf-16" DO
  EMIT ?r
END
FOR ?row IN FILE "/a/rather/long/path/of/a/file/{?name}/{?year}.csv"
    AS CSV
    ENCODING "windows-1252"
    AT ?line
    BAD ?bad DO
  EMIT ?row
END
