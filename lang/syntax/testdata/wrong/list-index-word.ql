EMIT ?list[first]
