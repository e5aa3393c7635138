SET ?t AS READ "/a.txt"
EMIT ?t
