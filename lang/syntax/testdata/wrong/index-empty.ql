SET ?list[] AS 1
