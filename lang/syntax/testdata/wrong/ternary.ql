EMIT ?a > 1 ? "many" : "one"
