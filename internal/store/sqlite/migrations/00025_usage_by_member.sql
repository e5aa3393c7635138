-- Each member counts in rows of its own, which are added up when they are read: so
-- members do not wait for each other. Member 0 is who is none, such as a command.
ALTER TABLE usage RENAME TO old_usage;
CREATE TABLE usage (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	month   INTEGER NOT NULL, -- year * 12 + month - 1
	member  INTEGER NOT NULL, -- the node's id
	calls   INTEGER NOT NULL,
	running INTEGER NOT NULL, -- microseconds
	egress  INTEGER NOT NULL, -- bytes
	records INTEGER NOT NULL, -- bytes of those that ended in the month and are kept
	PRIMARY KEY (account, month, member)
) STRICT, WITHOUT ROWID;
INSERT INTO usage SELECT account, month, 0, calls, running, egress, records FROM old_usage;
DROP TABLE old_usage;
