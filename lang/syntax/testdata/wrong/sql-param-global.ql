SELECT * FROM t WHERE id = !GTE('id');
