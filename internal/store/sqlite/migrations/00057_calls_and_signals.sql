-- Jobs that scripts have started, and whose: the parent may not be stored, so that its id stands
-- here as it does in the jobs.
CREATE TABLE job_calls (
	account INTEGER NOT NULL,
	parent  BLOB    NOT NULL, -- the id of a job, as jobs have it
	child   INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	ended   INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (account, parent, child)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_calls_child ON job_calls (child);
CREATE INDEX job_calls_open ON job_calls (account) WHERE ended = 0;

-- What jobs wait for that is no moment.
CREATE TABLE job_awaits (
	job    INTEGER PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,
	child  BLOB, -- the id of a job, as jobs have it; null for a signal
	signal TEXT  -- its name; null for a job
) STRICT;

-- Signals that were left for jobs. The last that were consumed stay without data, so that a repeat
-- is known.
CREATE TABLE job_signals (
	job      INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	number   INTEGER NOT NULL,
	account  INTEGER NOT NULL,
	name     TEXT    NOT NULL,
	data     BLOB, -- sealed; null when it was consumed
	bytes    INTEGER NOT NULL, -- that it counts for while it waits
	key      BLOB, -- the hash of what tells a repeat; null for none
	at       INTEGER NOT NULL,
	PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_signals_open ON job_signals (account, bytes) WHERE data IS NOT NULL;
CREATE UNIQUE INDEX job_signals_key ON job_signals (job, key) WHERE key IS NOT NULL;
