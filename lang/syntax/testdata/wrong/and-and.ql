IF ?a && ?b THEN EMIT "x" END
