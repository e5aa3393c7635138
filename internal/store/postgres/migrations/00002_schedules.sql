-- What starts published scripts by the clock.
CREATE TABLE schedules (
	account          BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	name             TEXT COLLATE "C"    NOT NULL,
	revision         BIGINT NOT NULL, -- grows whenever it is set
	script           TEXT COLLATE "C"    NOT NULL,
	every            BIGINT NOT NULL, -- microseconds; 0 where there is a timetable
	cron             TEXT COLLATE "C"    NOT NULL, -- '' where there is an interval
	zone             TEXT COLLATE "C"    NOT NULL,
	jitter           BIGINT NOT NULL, -- microseconds
	overlap          TEXT COLLATE "C"    NOT NULL, -- skip, queue or all
	catch_up         BIGINT NOT NULL, -- microseconds
	pause_after      BIGINT NOT NULL, -- failures in a row; 0 for never
	concurrency_key  TEXT COLLATE "C",
	concurrency_most BIGINT NOT NULL,
	changed          BIGINT NOT NULL,
	anchor           BIGINT NOT NULL, -- that intervals are counted from
	tick             BIGINT,          -- the next; null while it is paused
	due              BIGINT,          -- when that is looked at; null while it is paused
	paused           BIGINT,          -- since when; null where it is not
	paused_by        TEXT COLLATE "C"    NOT NULL, -- '' where it is not
	failures         BIGINT NOT NULL, -- in a row
	ticks            BIGINT NOT NULL, -- the number of the last entry of its history
	input            BYTEA,             -- sealed; null for nothing
	PRIMARY KEY (account, name)
);
CREATE INDEX schedules_due ON schedules (due) WHERE due IS NOT NULL;

-- What became of their ticks: a job, or a skip of one or more in a row.
CREATE TABLE schedule_ticks (
	account  BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	schedule TEXT COLLATE "C"    NOT NULL,
	number   BIGINT NOT NULL,
	first    BIGINT NOT NULL,
	last     BIGINT NOT NULL,
	count    BIGINT NOT NULL,
	settled  BIGINT NOT NULL,
	manual   BIGINT NOT NULL,
	job      BIGINT,          -- its number; null for a skip
	reason   TEXT COLLATE "C"    NOT NULL, -- '' for a job
	message  TEXT COLLATE "C"    NOT NULL,
	PRIMARY KEY (account, schedule, number)
);

-- What started a job, null for a caller.
ALTER TABLE jobs ADD COLUMN schedule TEXT COLLATE "C";
CREATE INDEX jobs_schedule ON jobs (account, schedule, seq) WHERE schedule IS NOT NULL;
CREATE INDEX jobs_scheduled ON jobs (account, schedule) WHERE schedule IS NOT NULL AND program IS NOT NULL;

-- Of jobs with the same key no more than so many are under way. A blocked one waits for another to finish:
-- it is accepted, belongs to nobody, and is due never.
ALTER TABLE jobs ADD COLUMN concurrency_key  TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN concurrency_most BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN blocked          BIGINT NOT NULL DEFAULT 0;
CREATE INDEX jobs_concurrency ON jobs (account, concurrency_key, blocked, seq) WHERE concurrency_key IS NOT NULL AND program IS NOT NULL;
CREATE INDEX jobs_blocked ON jobs (account) WHERE blocked = 1;
