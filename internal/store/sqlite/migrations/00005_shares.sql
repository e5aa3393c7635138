-- Content that links lead to, as it was when it was shared: once for all links
-- of an account to the same.
CREATE TABLE share_contents (
	seq     INTEGER PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	digest  BLOB    NOT NULL, -- of its chunks and its tail
	size    INTEGER NOT NULL,
	tail    BLOB    NOT NULL,
	UNIQUE (account, digest)
) STRICT;
CREATE TABLE share_chunks (
	seq     INTEGER PRIMARY KEY, -- their order
	content INTEGER NOT NULL REFERENCES share_contents (seq) ON DELETE CASCADE,
	hash    BLOB    NOT NULL,
	size    INTEGER NOT NULL
) STRICT;
CREATE INDEX share_chunks_content ON share_chunks (content);
CREATE INDEX share_chunks_hash ON share_chunks (hash);

CREATE TABLE shares (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	token   BLOB    NOT NULL UNIQUE, -- hashed
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	path    TEXT    NOT NULL,
	name    TEXT    NOT NULL,
	size    INTEGER NOT NULL,
	times   INTEGER NOT NULL, -- that it may be used; 0 for any number
	used    INTEGER NOT NULL, -- downloads that were begun
	made    INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	latest  INTEGER,          -- when the last download was begun
	revoked INTEGER,
	content INTEGER REFERENCES share_contents (seq) ON DELETE SET NULL -- null once nobody can load it
) STRICT;
CREATE INDEX shares_account ON shares (account, seq);
CREATE INDEX shares_content ON shares (content) WHERE content IS NOT NULL;
CREATE INDEX shares_expires ON shares (expires);
CREATE TABLE share_receipts (
	share    INTEGER NOT NULL REFERENCES shares (seq) ON DELETE CASCADE,
	number   INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	address  TEXT    NOT NULL,
	agent    TEXT    NOT NULL,
	client   BLOB    NOT NULL, -- its cookie, hashed
	restarts INTEGER NOT NULL,
	sent     INTEGER NOT NULL, -- bytes, by the attempt that came farthest
	finished INTEGER,
	PRIMARY KEY (share, number)
) STRICT, WITHOUT ROWID;
