SELECT 1 /* oops
EMIT 2
