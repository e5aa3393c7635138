SET ?size AS 20
SET ?page AS MAX(1, NUMBER(!GET('page')) DEFAULT 1)
SET ?skip AS (?page - 1) * ?size
SELECT id, title FROM posts ORDER BY id DESC LIMIT ?size OFFSET ?skip SET ?posts
SELECT COUNT(*) FROM posts SET VALUE ?total
EMIT {page: ?page, pages: CEIL(?total / ?size), posts: ?posts}
