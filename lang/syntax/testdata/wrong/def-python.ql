def add(a, b):
  return a + b
EMIT add(1, 2)
