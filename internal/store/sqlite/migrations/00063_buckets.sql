-- What may be done so often, counted for all nodes: a bucket is full again at a moment, by the clock of the store.
CREATE TABLE buckets (
	key     BLOB NOT NULL PRIMARY KEY,
	full_at INTEGER NOT NULL,
	scratch INTEGER NOT NULL -- of the last change, and for that alone
) STRICT, WITHOUT ROWID;
