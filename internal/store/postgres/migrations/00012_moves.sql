-- Moves of all that is stored, from or to this store. One that is filled, or was left, serves nobody.
CREATE TABLE moves (
	id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	state   TEXT COLLATE "C" NOT NULL,
	other   TEXT COLLATE "C" NOT NULL,
	lineage BYTEA NOT NULL,
	at      BIGINT NOT NULL
);

-- How far the one has come that fills this store.
CREATE TABLE move_progress (
	name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	rows BIGINT NOT NULL,
	hash BYTEA NOT NULL
);
