SET ?ids AS MAP(SPLIT(!GET('ids') DEFAULT "", ","), ?i -> NUMBER(?i))
SELECT * FROM posts WHERE id IN (?ids) SET ?posts
EMIT ?posts
