SELECT * FROM t WHERE name = {?name};
