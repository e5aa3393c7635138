IF 1 < ?x < 3 THEN EMIT "x" END
