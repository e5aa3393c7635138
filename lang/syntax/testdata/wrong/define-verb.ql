DEFINE select(?x) RETURN ?x END
