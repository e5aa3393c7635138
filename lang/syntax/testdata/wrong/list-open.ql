SET ?l AS [1, 2
EMIT ?l
