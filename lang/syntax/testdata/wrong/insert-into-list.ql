INSERT ?x INTO ?list
