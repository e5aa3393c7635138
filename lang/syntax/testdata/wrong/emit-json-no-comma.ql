EMIT JSON "a" "b"
