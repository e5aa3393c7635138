-- A job that stands holds its program too, whoever else does.
UPDATE jobs SET held = held + coalesce((SELECT length(code) FROM programs WHERE hash = program), 0) WHERE held IS NOT NULL;

-- Who gave a program first: what is stored of an account's, needed or not, has a
-- bound. Null for those of before.
ALTER TABLE programs ADD COLUMN account INTEGER;
CREATE INDEX programs_account ON programs (account, used) WHERE account IS NOT NULL;
ALTER TABLE kept ADD COLUMN programs INTEGER NOT NULL DEFAULT 0; -- bytes
CREATE TRIGGER programs_added AFTER INSERT ON programs WHEN NEW.account IS NOT NULL BEGIN
	INSERT INTO kept (account, standing, standing_bytes, sessions, programs) VALUES (NEW.account, 0, 0, 0, length(NEW.code))
		ON CONFLICT (account) DO UPDATE SET programs = programs + excluded.programs;
END;
CREATE TRIGGER programs_removed AFTER DELETE ON programs WHEN OLD.account IS NOT NULL BEGIN
	UPDATE kept SET programs = programs - length(OLD.code) WHERE account = OLD.account;
END;

-- The rows of a table are named, since it has one more.
DROP TRIGGER jobs_held;
CREATE TRIGGER jobs_held AFTER UPDATE OF held ON jobs WHEN OLD.held IS NOT NEW.held BEGIN
	INSERT INTO kept (account, standing, standing_bytes, sessions)
		VALUES (NEW.account, (NEW.held IS NOT NULL) - (OLD.held IS NOT NULL), coalesce(NEW.held, 0) - coalesce(OLD.held, 0), 0)
		ON CONFLICT (account) DO UPDATE SET standing = standing + excluded.standing, standing_bytes = standing_bytes + excluded.standing_bytes;
END;
DROP TRIGGER sessions_made;
CREATE TRIGGER sessions_made AFTER INSERT ON sessions BEGIN
	INSERT INTO kept (account, standing, standing_bytes, sessions) VALUES (NEW.account, 0, 0, 1)
		ON CONFLICT (account) DO UPDATE SET sessions = sessions + 1;
END;
