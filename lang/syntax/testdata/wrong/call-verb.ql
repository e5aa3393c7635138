CALL select(1)
