IF ?a === 1 THEN EMIT "x" END
