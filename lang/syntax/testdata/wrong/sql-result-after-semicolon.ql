SELECT * FROM t;
SET ?rows
