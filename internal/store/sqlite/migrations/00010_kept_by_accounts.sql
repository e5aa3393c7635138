-- How many bytes a job holds that stands, or did and has not ended; null for all
-- others.
ALTER TABLE jobs ADD COLUMN held INTEGER;
UPDATE jobs SET held = length(task) +
	(SELECT length(snapshot) + coalesce(length(trace), 0) + coalesce(length(response), 0) FROM job_snapshots WHERE job = seq) +
	coalesce((SELECT sum(length(output)) FROM job_output WHERE job = seq), 0)
	WHERE program IS NOT NULL AND state IN ('running', 'paused', 'waiting');

-- How much there is of what accounts may have so much of: to count it anew with
-- each row would cost the more the more there are.
CREATE TABLE kept (
	account        INTEGER PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
	standing       INTEGER NOT NULL, -- jobs that hold something
	standing_bytes INTEGER NOT NULL, -- together
	sessions       INTEGER NOT NULL
) STRICT;
INSERT INTO kept SELECT account, count(held), coalesce(sum(held), 0), 0 FROM jobs
	WHERE program IS NOT NULL AND state IN ('running', 'paused', 'waiting') GROUP BY account;
INSERT INTO kept SELECT account, 0, 0, count(*) FROM sessions WHERE true GROUP BY account
	ON CONFLICT (account) DO UPDATE SET sessions = excluded.sessions;

CREATE TRIGGER jobs_held AFTER UPDATE OF held ON jobs WHEN OLD.held IS NOT NEW.held BEGIN
	INSERT INTO kept VALUES (NEW.account, (NEW.held IS NOT NULL) - (OLD.held IS NOT NULL), coalesce(NEW.held, 0) - coalesce(OLD.held, 0), 0)
		ON CONFLICT (account) DO UPDATE SET standing = standing + excluded.standing, standing_bytes = standing_bytes + excluded.standing_bytes;
END;
CREATE TRIGGER jobs_removed AFTER DELETE ON jobs WHEN OLD.finished IS NULL AND OLD.held IS NOT NULL BEGIN
	UPDATE kept SET standing = standing - 1, standing_bytes = standing_bytes - OLD.held WHERE account = OLD.account;
END;
CREATE TRIGGER sessions_made AFTER INSERT ON sessions BEGIN
	INSERT INTO kept VALUES (NEW.account, 0, 0, 1) ON CONFLICT (account) DO UPDATE SET sessions = sessions + 1;
END;
CREATE TRIGGER sessions_removed AFTER DELETE ON sessions BEGIN
	UPDATE kept SET sessions = sessions - 1 WHERE account = OLD.account;
END;

-- Sessions that are over by their age are found without looking at the others.
CREATE INDEX sessions_created ON sessions (account, created);
