IF !done THEN EMIT "x" END
