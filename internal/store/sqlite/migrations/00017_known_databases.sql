-- The databases that were there when somebody last looked: what is missing at a start
-- can be told.
CREATE TABLE known_databases (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	name    TEXT    NOT NULL,
	PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;
