-- Who did what to an account: a log of each account, and that of the operator, whose account is 0.
-- An entry's hash is over the one before it and over its own columns.
CREATE TABLE audit_logs (
	account     INTEGER NOT NULL PRIMARY KEY,
	number      INTEGER NOT NULL, -- of the newest entry
	hash        BLOB    NOT NULL, -- of it
	bytes       INTEGER NOT NULL, -- of all entries that are there
	pruned      INTEGER NOT NULL, -- the newest entry that was removed, 0 for none
	pruned_hash BLOB    NOT NULL
) STRICT;

CREATE TABLE audit_entries (
	account INTEGER NOT NULL,
	number  INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	act     TEXT    NOT NULL,
	target  TEXT    NOT NULL,
	by      TEXT    NOT NULL,
	key     TEXT    NOT NULL,
	network TEXT    NOT NULL,
	result  TEXT    NOT NULL,
	count   INTEGER NOT NULL,
	hash    BLOB    NOT NULL,
	PRIMARY KEY (account, number)
) STRICT, WITHOUT ROWID;
