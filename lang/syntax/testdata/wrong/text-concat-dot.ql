EMIT "a" . "b"
