-- Keys that owners made for programs and people, to do what their scopes say.
CREATE TABLE named_keys (
	id      INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	name    TEXT    NOT NULL,
	hash    BLOB    NOT NULL UNIQUE,
	shown   TEXT    NOT NULL, -- how it begins
	scopes  TEXT    NOT NULL, -- with spaces between
	created INTEGER NOT NULL,
	expires INTEGER,          -- null for never
	UNIQUE (account, name)
) STRICT;
-- Apart from the keys, so that a use changes nothing that is cached.
CREATE TABLE named_key_uses (
	key INTEGER PRIMARY KEY REFERENCES named_keys (id) ON DELETE CASCADE,
	at  INTEGER NOT NULL
) STRICT;

-- Who started a job, and what: null for no named key, and for a script that was sent.
ALTER TABLE jobs ADD COLUMN key_id INTEGER;
ALTER TABLE jobs ADD COLUMN program_name TEXT;
CREATE INDEX jobs_key ON jobs (key_id, seq) WHERE key_id IS NOT NULL;
CREATE INDEX jobs_program ON jobs (account, program_name, seq) WHERE program_name IS NOT NULL;
