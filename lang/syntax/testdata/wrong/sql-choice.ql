SELECT a FROM t ORDER BY {?by IN};
SELECT a FROM t ORDER BY {?by IN 'name', 'city'};
SELECT a FROM t ORDER BY {?by IN name city};
SELECT a FROM t ORDER BY {?by IN name, Name};
SELECT a FROM t ORDER BY {?by IN name, city
;
SELECT a FROM t ORDER BY {?by IN name, ?other};
SELECT a FROM t ORDER BY {?by};
SELECT a FROM t ORDER BY {?by IN name, t.};
SELECT a FROM t WHERE b = [a
EMIT 1
