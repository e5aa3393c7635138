EMIT "\u12"
