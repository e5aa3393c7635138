WHILE (?i < 3) {
  SET ?i AS ?i + 1
}
EMIT ?i
