EMIT "Hello {=}"
