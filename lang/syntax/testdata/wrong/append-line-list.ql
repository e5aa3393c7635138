APPEND LINE "a" TO ?list
