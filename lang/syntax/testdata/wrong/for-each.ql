FOR EACH ?x IN ?list DO
  EMIT ?x
END
