SELECT * FROM t ORDER BY ?col SET ?rows
SELECT * FROM t ORDER BY name, ?col DESC LIMIT 3;
SELECT * FROM t ORDER BY !GET('sort');
SELECT a, rank() OVER (PARTITION BY b ORDER BY ?form.col) FROM t order by lower(a), ?b;
