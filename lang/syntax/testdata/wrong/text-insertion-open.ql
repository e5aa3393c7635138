EMIT "Hello {?name"
EMIT "bye"
