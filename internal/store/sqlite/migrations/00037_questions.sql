-- The questions of jobs, each with what became of it. One that is open has its words in
-- job_prompts, and stays here when those go, until the record of its job does.
CREATE TABLE questions (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT,
	account  INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	job      INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	state    TEXT    NOT NULL, -- announced, open, answered, expired, withdrawn
	prompt   TEXT,             -- its id; null while it is only announced
	token    BLOB    UNIQUE,   -- hashed, of its page; null for answers of earlier versions
	kind     TEXT    NOT NULL,
	audience TEXT    NOT NULL,
	title    TEXT    NOT NULL, -- the start of its words
	asked    INTEGER,
	expires  INTEGER,
	ended    INTEGER,          -- when it was answered, expired or was withdrawn
	reply    BLOB,             -- hashed
	by       TEXT,             -- the credential of who answered
	by_name  TEXT,             -- of the key, or the origin of the page
	address  TEXT,
	decision TEXT,
	note     TEXT
) STRICT;
CREATE INDEX questions_job ON questions (job);
CREATE INDEX questions_prompt ON questions (prompt);
CREATE INDEX questions_account ON questions (account, state, seq);

INSERT INTO questions (account, job, state, prompt, kind, audience, title, ended, reply, by, address)
	SELECT jobs.account, job, 'answered', prompt, '', '', '', at, reply, by, address FROM job_answers JOIN jobs ON jobs.seq = job ORDER BY at;
INSERT INTO questions (account, job, state, prompt, token, kind, audience, title, expires)
	SELECT jobs.account, job, 'open', job_prompts.id, token, kind, audience, substr(message, 1, 200), expires FROM job_prompts JOIN jobs ON jobs.seq = job;
DROP TABLE job_answers;

-- What the questions of a job take, in bytes: they are counted with its record.
ALTER TABLE jobs ADD COLUMN question_bytes INTEGER NOT NULL DEFAULT 0;
