EMIT “Hello”
EMIT ‘you’
