EMIT `Hello ${name}`
