EMIT ?list.0
