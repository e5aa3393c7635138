DEFINE line(?x) RETURN ?x END
EMIT line("a")
