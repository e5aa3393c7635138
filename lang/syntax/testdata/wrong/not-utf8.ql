EMIT "café"
