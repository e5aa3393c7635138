IF ?x = nil THEN EMIT "x" END
