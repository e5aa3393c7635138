SELECT * FROM t WHERE id = ? ;
