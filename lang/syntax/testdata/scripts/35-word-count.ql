SET ?counts AS {}
FOR ?w IN SPLIT(LOWER(!POST('text') DEFAULT ""), " ") DO
  SET ?counts[?w] AS ?counts[?w] DEFAULT 0 + 1
END
EMIT ?counts
