EMIT "a"
END
EMIT "b"
