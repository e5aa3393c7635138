-- What starts published scripts by the clock.
CREATE TABLE schedules (
	account          INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	name             TEXT    NOT NULL,
	revision         INTEGER NOT NULL, -- grows whenever it is set
	script           TEXT    NOT NULL,
	every            INTEGER NOT NULL, -- microseconds; 0 where there is a timetable
	cron             TEXT    NOT NULL, -- '' where there is an interval
	zone             TEXT    NOT NULL,
	jitter           INTEGER NOT NULL, -- microseconds
	overlap          TEXT    NOT NULL, -- skip, queue or all
	catch_up         INTEGER NOT NULL, -- microseconds
	pause_after      INTEGER NOT NULL, -- failures in a row; 0 for never
	concurrency_key  TEXT,
	concurrency_most INTEGER NOT NULL,
	changed          INTEGER NOT NULL,
	anchor           INTEGER NOT NULL, -- that intervals are counted from
	tick             INTEGER,          -- the next; null while it is paused
	due              INTEGER,          -- when that is looked at; null while it is paused
	paused           INTEGER,          -- since when; null where it is not
	paused_by        TEXT    NOT NULL, -- '' where it is not
	failures         INTEGER NOT NULL, -- in a row
	ticks            INTEGER NOT NULL, -- the number of the last entry of its history
	input            BLOB,             -- sealed; null for nothing
	PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedules_due ON schedules (due) WHERE due IS NOT NULL;

-- What became of their ticks: a job, or a skip of one or more in a row.
CREATE TABLE schedule_ticks (
	account  INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	schedule TEXT    NOT NULL,
	number   INTEGER NOT NULL,
	first    INTEGER NOT NULL,
	last     INTEGER NOT NULL,
	count    INTEGER NOT NULL,
	settled  INTEGER NOT NULL,
	manual   INTEGER NOT NULL,
	job      INTEGER,          -- its number; null for a skip
	reason   TEXT    NOT NULL, -- '' for a job
	message  TEXT    NOT NULL,
	PRIMARY KEY (account, schedule, number)
) STRICT, WITHOUT ROWID;

-- What started a job, null for a caller.
ALTER TABLE jobs ADD COLUMN schedule TEXT;
CREATE INDEX jobs_schedule ON jobs (account, schedule, seq) WHERE schedule IS NOT NULL;
CREATE INDEX jobs_scheduled ON jobs (account, schedule) WHERE schedule IS NOT NULL AND program IS NOT NULL;

-- Of jobs with the same key no more than so many are under way. A blocked one waits for another to finish:
-- it is accepted, belongs to nobody, and is due never.
ALTER TABLE jobs ADD COLUMN concurrency_key  TEXT;
ALTER TABLE jobs ADD COLUMN concurrency_most INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN blocked          INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_concurrency ON jobs (account, concurrency_key, blocked, seq) WHERE concurrency_key IS NOT NULL AND program IS NOT NULL;
CREATE INDEX jobs_blocked ON jobs (account) WHERE blocked = 1;
