-- Patterns with alternatives: addresses, dates and bad news in 8 000 messages.
SET ?messages AS []
FOR ?i FROM 0 TO 7_999 DO
  SET ?news AS "all is well"
  IF ?i % 3 = 0 THEN
    SET ?news AS "Fatal error"
  END
  APPEND "On 2026-{=10 + ?i % 3}-{=10 + ?i % 19} Jo{=?i % 50} wrote to jo.doe{?i}@mail{=?i % 9}.example.org: see https://shop{=?i % 7}.example/item/{?i}?q=red, due {=1 + ?i % 28}.{=1 + ?i % 12}.2027. {?news} in part {?i}, the rest went through." TO ?messages
END
SET ?hosts AS {}
SET ?dates AS 0
SET ?bad AS 0
SET ?hidden AS 0
FOR ?message IN ?messages DO
  FOR ?m IN FIND_ALL(?message, '(?:https?|ftp)://([^/\s]+)(/\S*)?') DO
    SET ?host AS ?m.groups[0]
    SET ?hosts[?host] AS (?hosts[?host] DEFAULT 0) + 1
  END
  FOR ?m IN FIND_ALL(?message, '(\d{4})-(\d\d)-(\d\d)|(\d{1,2})\.(\d{1,2})\.(\d{4})') DO
    SET ?dates AS ?dates + NUMBER(?m.groups[0] DEFAULT ?m.groups[5])
  END
  IF MATCHES(?message, '(?i)\b(?:fatal|error|panic(?:ked)?)\b') THEN
    SET ?bad AS ?bad + 1
  END
  SET ?hidden AS ?hidden + LENGTH(REPLACE_PATTERN(?message, '\b([\w.+-]+)@([\w-]+\.)+(org|com)\b', "<$1>"))
END

EMIT "{?hosts["shop3.example"]}-{?dates}-{?bad}-{?hidden}"
