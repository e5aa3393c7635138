{
  EMIT 1
}
