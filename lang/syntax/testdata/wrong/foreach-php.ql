foreach ($list as $x) {
  EMIT $x
}
