EMIT {1: "a"}
