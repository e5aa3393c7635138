EMIT MAP(?l, function(x) { return x })
