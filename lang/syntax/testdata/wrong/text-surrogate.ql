EMIT "\ud83d"
