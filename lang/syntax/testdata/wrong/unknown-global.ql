EMIT !GTE("name")
