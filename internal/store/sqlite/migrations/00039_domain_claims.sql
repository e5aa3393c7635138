-- Domains that owners want to list, and have not proved to be theirs yet. They are on no list, and
-- several accounts may claim one.
CREATE TABLE domain_claims (
	account        INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	scheme         TEXT    NOT NULL,
	host           TEXT    NOT NULL,
	port           INTEGER NOT NULL, -- 0 for the scheme's own
	published_only INTEGER NOT NULL,
	added          INTEGER NOT NULL,
	PRIMARY KEY (account, scheme, host, port)
) STRICT, WITHOUT ROWID;
