EMIT "a" "b"
