-- What deploys of an account's site bring. Content is kept once for an account, by the SHA-256 of
-- all of it, for all releases that have it and for a deploy that is on its way.
CREATE TABLE site_contents (
	seq      INTEGER PRIMARY KEY,
	account  INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	digest   BLOB    NOT NULL,
	size     INTEGER NOT NULL,
	tail     BLOB    NOT NULL,
	checksum INTEGER NOT NULL, -- of the tail
	UNIQUE (account, digest)
) STRICT;
CREATE TABLE site_chunks (
	account INTEGER NOT NULL,
	content INTEGER NOT NULL,
	number  INTEGER NOT NULL,
	hash    BLOB    NOT NULL,
	size    INTEGER NOT NULL,
	PRIMARY KEY (account, content, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX site_chunks_hash ON site_chunks (hash);

-- Content that was sent and that no release has: it goes with the next deploy, or after a day.
CREATE TABLE site_staged (
	content INTEGER PRIMARY KEY,
	account INTEGER NOT NULL,
	made    INTEGER NOT NULL
) STRICT;
CREATE INDEX site_staged_account ON site_staged (account);
CREATE INDEX site_staged_made ON site_staged (made);

CREATE TABLE site_releases (
	account    INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	number     INTEGER NOT NULL, -- grows by one; the greatest is the current one
	made       INTEGER NOT NULL,
	credential TEXT    NOT NULL, -- by which it was made
	key        TEXT    NOT NULL, -- the name of the named key, '' for others
	restored   INTEGER NOT NULL, -- the release that it brought back, 0 for none
	files      INTEGER NOT NULL,
	bytes      INTEGER NOT NULL,
	weight     INTEGER NOT NULL, -- what its rows take
	PRIMARY KEY (account, number)
) STRICT, WITHOUT ROWID;

-- The folder of the site as a release has it.
CREATE TABLE site_files (
	account  INTEGER NOT NULL,
	release  INTEGER NOT NULL,
	key      TEXT    NOT NULL,
	parent   TEXT    NOT NULL,
	path     TEXT    NOT NULL,
	modified INTEGER NOT NULL,
	content  INTEGER,          -- null for a folder
	PRIMARY KEY (account, release, key)
) STRICT, WITHOUT ROWID;

-- What of all this is storage of the account beside its files: rows, tails, and blobs that no
-- file of the account has.
CREATE TABLE site_usage (
	account INTEGER PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
	bytes   INTEGER NOT NULL
) STRICT;

CREATE TRIGGER site_releases_added AFTER INSERT ON site_releases BEGIN
	INSERT INTO site_usage VALUES (NEW.account, NEW.weight) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER site_releases_dropped AFTER DELETE ON site_releases BEGIN
	DELETE FROM site_files WHERE account = OLD.account AND release = OLD.number;
	UPDATE site_usage SET bytes = bytes - OLD.weight WHERE account = OLD.account;
END;
CREATE TRIGGER site_contents_added AFTER INSERT ON site_contents BEGIN
	INSERT INTO site_usage VALUES (NEW.account, length(NEW.tail) + 256) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER site_contents_let_go BEFORE DELETE ON site_contents BEGIN
	DELETE FROM site_chunks WHERE account = OLD.account AND content = OLD.seq;
	DELETE FROM site_staged WHERE content = OLD.seq;
	UPDATE site_usage SET bytes = bytes - length(OLD.tail) - 256 WHERE account = OLD.account;
END;
CREATE TRIGGER site_chunks_added AFTER INSERT ON site_chunks
	WHEN NOT EXISTS (SELECT 1 FROM site_chunks WHERE hash = NEW.hash AND account = NEW.account AND NOT (content = NEW.content AND number = NEW.number))
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = NEW.hash AND account = NEW.account) BEGIN
	INSERT INTO site_usage VALUES (NEW.account, NEW.size) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER site_chunks_dropped AFTER DELETE ON site_chunks
	WHEN NOT EXISTS (SELECT 1 FROM site_chunks WHERE hash = OLD.hash AND account = OLD.account)
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = OLD.hash AND account = OLD.account) BEGIN
	UPDATE site_usage SET bytes = bytes - OLD.size WHERE account = OLD.account;
END;
CREATE TRIGGER file_chunks_taken AFTER INSERT ON file_chunks
	WHEN EXISTS (SELECT 1 FROM site_chunks WHERE hash = NEW.hash AND account = NEW.account)
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = NEW.hash AND account = NEW.account AND NOT (file = NEW.file AND number = NEW.number)) BEGIN
	UPDATE site_usage SET bytes = bytes - NEW.size WHERE account = NEW.account;
END;
CREATE TRIGGER file_chunks_left AFTER DELETE ON file_chunks
	WHEN EXISTS (SELECT 1 FROM site_chunks WHERE hash = OLD.hash AND account = OLD.account)
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = OLD.hash AND account = OLD.account) BEGIN
	UPDATE site_usage SET bytes = bytes + OLD.size WHERE account = OLD.account;
END;

-- A blob dies with the last row that refers to it, be it of a file, a link or a site.
DROP TRIGGER file_chunks_let_go;
DROP TRIGGER share_chunks_let_go;
CREATE TRIGGER file_chunks_let_go AFTER DELETE ON file_chunks BEGIN
	INSERT INTO dead_blobs SELECT OLD.hash, OLD.account, OLD.size, NULL
		WHERE NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = OLD.hash)
		AND NOT EXISTS (SELECT 1 FROM share_chunks WHERE hash = OLD.hash)
		AND NOT EXISTS (SELECT 1 FROM site_chunks WHERE hash = OLD.hash)
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER share_chunks_let_go AFTER DELETE ON share_chunks BEGIN
	INSERT INTO dead_blobs SELECT OLD.hash, OLD.account, OLD.size, NULL
		WHERE NOT EXISTS (SELECT 1 FROM share_chunks WHERE hash = OLD.hash)
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = OLD.hash)
		AND NOT EXISTS (SELECT 1 FROM site_chunks WHERE hash = OLD.hash)
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER site_chunks_let_go AFTER DELETE ON site_chunks BEGIN
	INSERT INTO dead_blobs SELECT OLD.hash, OLD.account, OLD.size, NULL
		WHERE NOT EXISTS (SELECT 1 FROM site_chunks WHERE hash = OLD.hash)
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = OLD.hash)
		AND NOT EXISTS (SELECT 1 FROM share_chunks WHERE hash = OLD.hash)
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER site_chunks_revive AFTER INSERT ON site_chunks BEGIN
	DELETE FROM dead_blobs WHERE hash = NEW.hash;
END;
