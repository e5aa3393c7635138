EMIT LINE hello
