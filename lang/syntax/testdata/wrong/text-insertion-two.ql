EMIT "Hello {?first ?last}"
EMIT "bye"
