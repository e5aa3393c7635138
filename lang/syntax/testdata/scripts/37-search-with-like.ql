SET ?like AS "%" + (!GET('q') DEFAULT "") + "%"
SELECT id, title FROM posts WHERE title LIKE ?like ORDER BY id LIMIT 20
