-- The versions of published scripts. Who publishes one ends the version before. Of those
-- of before, which only pages could send, there are only hashes.
CREATE TABLE published_scripts (
	seq     INTEGER PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	name    TEXT    NOT NULL,
	version INTEGER NOT NULL,
	hash    BLOB    NOT NULL,
	callers TEXT    NOT NULL,
	methods TEXT    NOT NULL, -- with blanks between; '' for all
	secrets INTEGER NOT NULL,
	added   INTEGER NOT NULL,
	ends    INTEGER,          -- null for the current one
	bytes   INTEGER NOT NULL, -- that it counts for
	schema  TEXT    NOT NULL, -- of its input, JSON; '' for none
	text    TEXT    NOT NULL  -- '' where it is not known
) STRICT;
CREATE UNIQUE INDEX published_scripts_version ON published_scripts (account, name, version);
CREATE UNIQUE INDEX published_scripts_current ON published_scripts (account, name) WHERE ends IS NULL;
CREATE INDEX published_scripts_hash ON published_scripts (account, hash);
CREATE INDEX published_scripts_bytes ON published_scripts (account, bytes);
CREATE INDEX published_scripts_ends ON published_scripts (ends) WHERE ends IS NOT NULL;
INSERT INTO published_scripts (account, name, version, hash, callers, methods, secrets, added, bytes, schema, text)
	SELECT account, name, 1, hash, 'domains', '', 0, added, 1024, '', '' FROM published;
DROP TABLE published;
