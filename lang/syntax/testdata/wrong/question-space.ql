EMIT ? name
