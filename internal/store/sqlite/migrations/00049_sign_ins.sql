-- Browsers that are signed in to the dashboard. Visitors' sessions are others: those of sessions.
CREATE TABLE sign_ins (
	id        INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again
	account   INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	hash      BLOB    NOT NULL UNIQUE, -- of the secret in the cookie
	created   INTEGER NOT NULL,
	used      INTEGER NOT NULL,
	confirmed INTEGER -- when the password was last entered, null for never
) STRICT;
CREATE INDEX sign_ins_account ON sign_ins (account, used);
CREATE INDEX sign_ins_used ON sign_ins (used);
CREATE INDEX sign_ins_created ON sign_ins (created);

-- A changed password and a disabled account end them, whoever makes the change. A hash that is made
-- anew of the same password leaves the epoch, and a rotated key the hash.
CREATE TRIGGER sign_ins_password AFTER UPDATE OF password_hash ON accounts WHEN NEW.epoch <> OLD.epoch BEGIN
	DELETE FROM sign_ins WHERE account = NEW.id;
END;
CREATE TRIGGER sign_ins_disabled AFTER UPDATE OF disabled ON accounts WHEN NEW.disabled BEGIN
	DELETE FROM sign_ins WHERE account = NEW.id;
END;
