-- Times are microseconds since 1970, in UTC. Rows have sequence numbers as
-- their keys; random ids have narrow unique indexes of their own, so that the
-- cost of a row does not grow with their number.

PRAGMA application_id = 0x716c4442;

CREATE TABLE accounts (
	id                   INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again
	username             TEXT    NOT NULL UNIQUE,
	email                TEXT    NOT NULL, -- '' for none
	email_verified       INTEGER NOT NULL,
	phone                TEXT    NOT NULL, -- '' for none
	phone_verified       INTEGER NOT NULL,
	password_hash        TEXT    NOT NULL, -- '' opens nothing
	key_hash             BLOB    UNIQUE,   -- null for none
	sealed_key           BLOB,
	epoch                INTEGER NOT NULL,
	plan                 TEXT    NOT NULL,
	admin                INTEGER NOT NULL,
	disabled             INTEGER NOT NULL,
	require_auth_on_jobs INTEGER NOT NULL,
	created              INTEGER NOT NULL
) STRICT;

-- The names that lead to an account: unique over all kinds.
CREATE TABLE aliases (
	canonical TEXT    NOT NULL PRIMARY KEY,
	kind      TEXT    NOT NULL,
	account   INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_account ON aliases (account);

CREATE TABLE domains (
	seq            INTEGER PRIMARY KEY,
	account        INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	scheme         TEXT    NOT NULL,
	host           TEXT    NOT NULL,
	port           INTEGER NOT NULL, -- 0 for the scheme's own
	reversed       TEXT    NOT NULL, -- the host backwards: what ends alike stands together
	published_only INTEGER NOT NULL,
	added          INTEGER NOT NULL,
	UNIQUE (account, scheme, host, port)
) STRICT;
CREATE INDEX domains_host ON domains (host);
CREATE INDEX domains_reversed ON domains (reversed);

CREATE TABLE published (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	name    TEXT    NOT NULL,
	hash    BLOB    NOT NULL,
	added   INTEGER NOT NULL,
	PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX published_hash ON published (account, hash);

CREATE TABLE secrets (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	name    TEXT    NOT NULL,
	changed INTEGER NOT NULL,
	sealed  BLOB    NOT NULL,
	PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_secrets (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	number  INTEGER NOT NULL,
	sealed  BLOB    NOT NULL,
	made    INTEGER NOT NULL,
	ends    INTEGER, -- null for the newest
	PRIMARY KEY (account, number)
) STRICT, WITHOUT ROWID;

-- The record that proves the master key: one row at most.
CREATE TABLE master_check (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	record BLOB    NOT NULL
) STRICT;

CREATE TABLE sessions (
	seq     INTEGER PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	id_hash BLOB    NOT NULL,
	created INTEGER NOT NULL,
	touched INTEGER NOT NULL,
	version INTEGER NOT NULL, -- grows with each change of data
	data    TEXT    NOT NULL  -- a map as JSON
) STRICT;
CREATE UNIQUE INDEX sessions_id ON sessions (account, id_hash);
CREATE INDEX sessions_touched ON sessions (account, touched);

-- What may be large stands last: listings read only the start of a row.
CREATE TABLE jobs (
	seq           INTEGER PRIMARY KEY AUTOINCREMENT,
	id            BLOB    NOT NULL,
	account       INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	state         TEXT    NOT NULL,
	mode          TEXT    NOT NULL,
	convention    TEXT    NOT NULL,
	credential    TEXT    NOT NULL,
	created       INTEGER NOT NULL,
	finished      INTEGER, -- null while it is not
	steps         INTEGER NOT NULL,
	trace_dropped INTEGER NOT NULL,
	error         BLOB, -- JSON, as answered
	response      BLOB, -- likewise
	trace         BLOB, -- likewise
	result        BLOB    NOT NULL,
	encoding      TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX jobs_id ON jobs (id);
CREATE INDEX jobs_account ON jobs (account, seq);
CREATE INDEX jobs_finished ON jobs (account, finished) WHERE finished IS NOT NULL;
