SET ?a AS (?x DEFAULT 0) + 1
SET ?b AS 1 + (?x DEFAULT 0) * (?y DEFAULT 2) -- both
SET ?c AS (?x DEFAULT 0) + 1
EMIT "{=(?x DEFAULT 1) % 2}", ?x DEFAULT 1 > 2, -?x DEFAULT 3
