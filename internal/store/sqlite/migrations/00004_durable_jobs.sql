-- Jobs that outlive a process. A job that is not finished is due at a moment:
-- an accepted one when it was accepted, a waiting one when its wait ends, a
-- paused one when its question expires, if ever, a running one when its lease
-- ends. Each claim is a new attempt, and a change is made only by the newest.

ALTER TABLE jobs ADD COLUMN attempt  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN due      INTEGER;                    -- null when finished, and for never
ALTER TABLE jobs ADD COLUMN stopping INTEGER NOT NULL DEFAULT 0; -- somebody asked it to stop
ALTER TABLE jobs ADD COLUMN failures INTEGER NOT NULL DEFAULT 0; -- in a row, of the service
ALTER TABLE jobs ADD COLUMN ran      INTEGER NOT NULL DEFAULT 0; -- microseconds
ALTER TABLE jobs ADD COLUMN webhook  TEXT;
ALTER TABLE jobs ADD COLUMN program  BLOB;                       -- its hash; null when finished
ALTER TABLE jobs ADD COLUMN task     BLOB;                       -- sealed; null when finished
-- As small as what is under way: finished jobs are not in it.
CREATE INDEX jobs_due ON jobs (state, due) WHERE program IS NOT NULL;

-- Programs of jobs that are not finished. Used is when one was last given, or
-- found to be needed; what no job needs goes some time after that.
CREATE TABLE programs (
	hash BLOB    NOT NULL PRIMARY KEY,
	used INTEGER NOT NULL,
	code BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX programs_used ON programs (used);

-- What the host told a job's machine since its last snapshot, sealed. A row
-- holds the results of one or more steps, and its step is that of the first.
CREATE TABLE job_journal (
	job     INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	step    INTEGER NOT NULL,
	entries BLOB    NOT NULL,
	PRIMARY KEY (job, step)
) STRICT, WITHOUT ROWID;

-- The last snapshot of a job that is not finished, and what it had to show then
-- beside its output. It is not in the job's own row, which is read and written
-- far more often.
CREATE TABLE job_snapshots (
	job           INTEGER PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,
	trace_dropped INTEGER NOT NULL,
	response      BLOB,             -- JSON
	trace         BLOB,             -- JSON
	snapshot      BLOB    NOT NULL  -- sealed
) STRICT;

-- The output of a job that is not finished, in pieces.
CREATE TABLE job_output (
	job    INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	start  INTEGER NOT NULL,
	output BLOB    NOT NULL,
	PRIMARY KEY (job, start)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_prompts (
	job     INTEGER PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,
	id      TEXT    NOT NULL,
	kind    TEXT    NOT NULL,
	token   BLOB    NOT NULL UNIQUE, -- hashed
	sealed  BLOB    NOT NULL,        -- the same, for those who may see the job
	expires INTEGER,
	message TEXT    NOT NULL,
	schema  BLOB
) STRICT;

-- Who answered which question of a job.
CREATE TABLE job_answers (
	job     INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	prompt  TEXT    NOT NULL,
	reply   BLOB    NOT NULL, -- hashed
	by      TEXT    NOT NULL,
	address TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (job, prompt)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_keys (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	hash    BLOB    NOT NULL,
	body    BLOB    NOT NULL, -- hashed
	job     BLOB    NOT NULL, -- its id
	ends    INTEGER NOT NULL,
	PRIMARY KEY (account, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_ends ON idempotency_keys (ends);

-- What a finished job has to tell its caller's server: written with the job's
-- end, so that none is forgotten.
CREATE TABLE deliveries (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT,
	id       TEXT    NOT NULL UNIQUE, -- the same for all attempts
	account  INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	job      BLOB    NOT NULL,        -- the job's id
	url      TEXT    NOT NULL,
	state    TEXT    NOT NULL,        -- pending, delivered, stopped, exhausted
	attempts INTEGER NOT NULL,
	due      INTEGER,                 -- null when settled
	made     INTEGER NOT NULL,
	settled  INTEGER
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_account ON deliveries (account, seq);
CREATE INDEX deliveries_job ON deliveries (job);
CREATE TABLE delivery_attempts (
	delivery INTEGER NOT NULL REFERENCES deliveries (seq) ON DELETE CASCADE,
	number   INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	took     INTEGER NOT NULL, -- microseconds
	status   INTEGER NOT NULL, -- of HTTP, 0 where there was no answer
	answer   TEXT    NOT NULL, -- its start, printable
	error    TEXT    NOT NULL,
	PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;
