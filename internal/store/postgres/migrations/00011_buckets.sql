-- What may be done so often, counted for all nodes: a bucket is full again at a moment, by the clock of the store.
CREATE TABLE buckets (
	key     BYTEA NOT NULL PRIMARY KEY,
	full_at BIGINT NOT NULL,
	scratch BIGINT NOT NULL -- of the last change, and for that alone
) WITH (fillfactor = 50);
