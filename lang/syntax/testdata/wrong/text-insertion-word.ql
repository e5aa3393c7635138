EMIT "Hello {=name}"
