-- The results that a job got, to replay it: what it got before each of its snapshots, and in its
-- own row what came after the last. What it was run with, its task, stays with them.
CREATE TABLE job_history (
	job     INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	step    INTEGER NOT NULL, -- of the first
	entries BLOB    NOT NULL, -- sealed
	PRIMARY KEY (job, step)
) STRICT, WITHOUT ROWID;
ALTER TABLE jobs ADD COLUMN history       BLOB;                       -- sealed; null for none
ALTER TABLE jobs ADD COLUMN history_bytes INTEGER NOT NULL DEFAULT 0; -- in job_history
