-- Moves of all that is stored, from or to this store. One that is filled, or was left, serves nobody.
CREATE TABLE moves (
	id      TEXT NOT NULL PRIMARY KEY,
	state   TEXT NOT NULL, -- filling and filled here; left where it was moved elsewhere
	other   TEXT NOT NULL, -- where it came from, or went to, for people
	lineage BLOB NOT NULL, -- tells which store was moved
	at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How far the one has come that fills this store.
CREATE TABLE move_progress (
	name TEXT NOT NULL PRIMARY KEY,
	rows INTEGER NOT NULL,
	hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;
