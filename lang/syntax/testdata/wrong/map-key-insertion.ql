EMIT {"a{?k}": 1}
