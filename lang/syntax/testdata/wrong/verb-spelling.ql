EMTI "hello"
EMIT 1
