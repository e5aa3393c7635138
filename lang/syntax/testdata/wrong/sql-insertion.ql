SELECT * FROM t WHERE name = '{?name}';
EMIT 1
