EMIT JSON hello
