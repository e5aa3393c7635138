FOR ?x OF ?list DO EMIT ?x END
