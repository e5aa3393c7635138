-- The machines of accounts, on which scripts run commands.
CREATE TABLE machines (
	account  INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	name     TEXT    NOT NULL,
	kind     TEXT    NOT NULL, -- ssh or wasm
	changed  INTEGER NOT NULL,
	host_key TEXT    NOT NULL, -- that a host showed first; '' before that
	settings TEXT    NOT NULL, -- JSON
	sealed   BLOB,             -- the private key, null for none
	PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

-- How long commands ran on machines, beside what else accounts use.
ALTER TABLE usage      ADD COLUMN machine     INTEGER NOT NULL DEFAULT 0; -- microseconds
ALTER TABLE usage      ADD COLUMN day_machine INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_days ADD COLUMN machine     INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER usage_next_day;
CREATE TRIGGER usage_next_day BEFORE UPDATE OF day ON usage WHEN new.day > old.day AND old.day > 0 BEGIN
	INSERT INTO usage_days (account, day, member, calls, running, egress, machine)
		VALUES (old.account, old.day, old.member, old.day_calls, old.day_running, old.day_egress, old.day_machine)
		ON CONFLICT (account, day, member) DO UPDATE SET calls = calls + excluded.calls, running = running + excluded.running,
			egress = egress + excluded.egress, machine = machine + excluded.machine;
	DELETE FROM usage_days WHERE account = old.account AND day < new.day - 100;
END;
