DEFINE json(?x) RETURN ?x END
EMIT json("a")
