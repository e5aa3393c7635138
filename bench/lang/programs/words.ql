-- Texts and maps: 200 000 words of a text counted, and sorted by how often they
-- stand in it.
SET ?seed AS 42
SET ?parts AS []
FOR ?i FROM 1 TO 200_000 DO
  SET ?seed AS (?seed * 3877 + 29573) % 139968
  APPEND "w{=?seed % 4999}" TO ?parts
END
SET ?text AS JOIN(?parts, " ")

SET ?counts AS {}
FOR ?word IN SPLIT(?text, " ") DO
  SET ?counts[?word] AS (?counts[?word] DEFAULT 0) + 1
END
SET ?sorted AS SORT_BY(ENTRIES(?counts), ?e -> [-?e.value, ?e.key])
SET ?sum AS 0
FOR ?place, ?e IN ?sorted DO
  SET ?sum AS (?sum + ?e.value * (?place + 1) + LENGTH(?e.key)) % 1000003
END

EMIT "{?sum}-{?sorted[0].key}"
