EMIT {?k: 1}
