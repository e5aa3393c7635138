-- Blobs on the disk that neither a file nor a link refers to any more. They are
-- the storage of the account that let go of them last, until they are swept.
-- One that is found on the disk and that nothing tells of is nobody's: account 0.
CREATE TABLE dead_blobs (
	hash    BLOB    NOT NULL PRIMARY KEY,
	account INTEGER NOT NULL, -- may be gone
	size    INTEGER NOT NULL,
	since   INTEGER           -- when a sweep first saw it; null before
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_blobs_account ON dead_blobs (account, since);
CREATE INDEX dead_blobs_since ON dead_blobs (since);

-- How many bytes they have together, beside what the files hold.
ALTER TABLE file_trees ADD COLUMN dead INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER dead_blobs_added AFTER INSERT ON dead_blobs BEGIN
	UPDATE file_trees SET dead = dead + NEW.size WHERE account = NEW.account;
END;
CREATE TRIGGER dead_blobs_dropped AFTER DELETE ON dead_blobs BEGIN
	UPDATE file_trees SET dead = dead - OLD.size WHERE account = OLD.account;
END;

-- A blob dies with the last row that refers to it, whatever removes that row.
-- Rows that go with their file or content are seen to before that goes: after it
-- nobody knows whose they were.
CREATE TRIGGER files_let_go BEFORE DELETE ON files WHEN OLD.size > length(OLD.tail) BEGIN
	INSERT INTO dead_blobs SELECT DISTINCT hash, OLD.account, size, NULL FROM file_chunks AS own WHERE file = OLD.seq
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = own.hash AND file <> OLD.seq)
		AND NOT EXISTS (SELECT 1 FROM share_chunks WHERE hash = own.hash)
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER file_chunks_let_go AFTER DELETE ON file_chunks BEGIN
	INSERT INTO dead_blobs SELECT OLD.hash, account, OLD.size, NULL FROM files WHERE seq = OLD.file
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = OLD.hash)
		AND NOT EXISTS (SELECT 1 FROM share_chunks WHERE hash = OLD.hash)
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER share_contents_let_go BEFORE DELETE ON share_contents WHEN OLD.size > length(OLD.tail) BEGIN
	INSERT INTO dead_blobs SELECT DISTINCT hash, OLD.account, size, NULL FROM share_chunks AS own WHERE content = OLD.seq
		AND NOT EXISTS (SELECT 1 FROM share_chunks WHERE hash = own.hash AND content <> OLD.seq)
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = own.hash)
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER file_chunks_revive AFTER INSERT ON file_chunks BEGIN
	DELETE FROM dead_blobs WHERE hash = NEW.hash;
END;
