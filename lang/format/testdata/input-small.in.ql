input   fields  a text,b integer   emit 1
