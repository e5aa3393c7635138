SELECT * FROM t WHERE id = :id;
