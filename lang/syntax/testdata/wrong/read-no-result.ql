READ "/a.txt"
EMIT 1
