IF ?a > 1 {
  EMIT "a"
} else {
  EMIT "b"
}
EMIT "go on"
