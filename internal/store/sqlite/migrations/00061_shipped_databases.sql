-- Which member has the databases of an account; 0 for none. The epoch grows with each that has them.
CREATE TABLE homes (
	account     INTEGER NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
	member      INTEGER NOT NULL,
	incarnation INTEGER NOT NULL,
	epoch       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Databases of accounts whose changes are here, and in blobs.
CREATE TABLE shipped_databases (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	name    TEXT NOT NULL,
	last    INTEGER NOT NULL, -- the number of the last change
	size    INTEGER NOT NULL, -- in pages
	PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

-- What changes have made of one, in the order of their numbers: sealed here, or in blobs.
CREATE TABLE shipped_parts (
	seq     INTEGER PRIMARY KEY,
	account INTEGER NOT NULL,
	name    TEXT NOT NULL,
	first   INTEGER NOT NULL,
	last    INTEGER NOT NULL,
	size    INTEGER NOT NULL,
	content BLOB,
	UNIQUE (account, name, last)
) STRICT;

CREATE TABLE shipped_chunks (
	account INTEGER NOT NULL,
	part    INTEGER NOT NULL,
	number  INTEGER NOT NULL,
	hash    BLOB NOT NULL,
	size    INTEGER NOT NULL,
	PRIMARY KEY (account, part, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX shipped_chunks_hash ON shipped_chunks (hash);
