EMIT 'it's'
EMIT 1
