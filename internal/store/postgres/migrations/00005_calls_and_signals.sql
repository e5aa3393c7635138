CREATE TABLE job_calls (
	account BIGINT NOT NULL,
	parent  BYTEA  NOT NULL,
	child   BIGINT NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	ended   BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (account, parent, child)
);
CREATE INDEX job_calls_child ON job_calls (child);
CREATE INDEX job_calls_open ON job_calls (account) WHERE ended = 0;

CREATE TABLE job_awaits (
	job    BIGINT PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,
	child  BYTEA,
	signal TEXT COLLATE "C"
);

CREATE TABLE job_signals (
	job      BIGINT NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	number   BIGINT NOT NULL,
	account  BIGINT NOT NULL,
	name     TEXT COLLATE "C" NOT NULL,
	data     BYTEA,
	bytes    BIGINT NOT NULL,
	key      BYTEA,
	at       BIGINT NOT NULL,
	PRIMARY KEY (job, number)
);
CREATE INDEX job_signals_open ON job_signals (account, bytes) WHERE data IS NOT NULL;
CREATE UNIQUE INDEX job_signals_key ON job_signals (job, key) WHERE key IS NOT NULL;
