-- Patterns: 40 000 lines of a log taken apart, searched, and their numbers hidden.
SET ?lines AS []
FOR ?i FROM 0 TO 39_999 DO
  APPEND "2026-11-18T02:{=?i % 60}:10 host{=?i % 17} GET /shop/item/{?i}?page={=?i % 9}&q=red {=200 + ?i % 5 * 100} {=?i * 7}" TO ?lines
END
SET ?bytes AS 0
SET ?found AS 0
SET ?hidden AS 0
SET ?statuses AS {}
FOR ?line IN ?lines DO
  SET ?m AS FIND(?line, '^(\S+) (\S+) ([A-Z]+) (/\S*) ([0-9]+) ([0-9]+)$')
  SET ?status AS ?m.groups[4]
  SET ?statuses[?status] AS (?statuses[?status] DEFAULT 0) + 1
  SET ?bytes AS ?bytes + NUMBER(?m.groups[5])
  IF MATCHES(?line, 'item/[0-9]*7\?page=[0-4]&') THEN
    SET ?found AS ?found + 1
  END
  SET ?hidden AS ?hidden + LENGTH(REPLACE_PATTERN(?line, '[0-9]+', "#"))
END

EMIT "{?bytes}-{?found}-{?hidden}-{?statuses["400"]}"
