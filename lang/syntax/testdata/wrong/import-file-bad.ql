IMPORT FILE "/a.csv" INTO people BAD bad
