try {
  EMIT 1
} catch (e) {
  EMIT 2
}
EMIT 3
