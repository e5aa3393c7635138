EMIT 'hello
EMIT 'you'
