DEFINE note(?x) EMIT ?x END
note(1)
EMIT "ok"
