APPEND 1 ?list
