EMIT 1 -- end
