-- What accounts use by the calendar month.
CREATE TABLE usage (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	month   INTEGER NOT NULL, -- year * 12 + month - 1
	calls   INTEGER NOT NULL,
	running INTEGER NOT NULL, -- microseconds
	egress  INTEGER NOT NULL, -- bytes
	PRIMARY KEY (account, month)
) STRICT, WITHOUT ROWID;
