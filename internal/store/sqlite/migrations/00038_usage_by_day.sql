-- What accounts use by the day. The day at hand is counted in the row of its month, which is
-- written anyway; where another day begins, a trigger moves it to a table of its own, and
-- removes days there that nobody asks for any more.
CREATE TABLE usage_days (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	day     INTEGER NOT NULL, -- after 1970-01-01
	member  INTEGER NOT NULL,
	calls   INTEGER NOT NULL,
	running INTEGER NOT NULL, -- microseconds
	egress  INTEGER NOT NULL, -- bytes
	PRIMARY KEY (account, day, member)
) STRICT, WITHOUT ROWID;

-- Of a month before this, all counts on its first day.
INSERT INTO usage_days SELECT account, CAST(julianday(printf('%04d-%02d-01', month / 12, month % 12 + 1)) - 2440587.5 AS INTEGER), member, calls, running, egress FROM usage;

ALTER TABLE usage ADD COLUMN day         INTEGER NOT NULL DEFAULT 0; -- 0 for none yet
ALTER TABLE usage ADD COLUMN day_calls   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN day_running INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN day_egress  INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER usage_next_day BEFORE UPDATE OF day ON usage WHEN new.day > old.day AND old.day > 0 BEGIN
	INSERT INTO usage_days VALUES (old.account, old.day, old.member, old.day_calls, old.day_running, old.day_egress)
		ON CONFLICT (account, day, member) DO UPDATE SET calls = calls + excluded.calls, running = running + excluded.running, egress = egress + excluded.egress;
	DELETE FROM usage_days WHERE account = old.account AND day < new.day - 100;
END;
