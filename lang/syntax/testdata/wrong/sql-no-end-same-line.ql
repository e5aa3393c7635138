SELECT * FROM t EMIT "done"
