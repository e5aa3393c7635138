-- Chunks stand under their account, by their number in the content: one tree of rows less
-- than before, since the rows themselves are in that order. There are no references to
-- files and contents, which would need an index of all files: the triggers that let go of
-- blobs remove the rows.
DROP TRIGGER files_let_go;
DROP TRIGGER file_chunks_let_go;
DROP TRIGGER file_chunks_revive;
DROP TRIGGER share_contents_let_go;

CREATE TABLE new_file_chunks (
	account INTEGER NOT NULL,
	file    INTEGER NOT NULL,
	number  INTEGER NOT NULL, -- grows with the content
	hash    BLOB    NOT NULL,
	size    INTEGER NOT NULL,
	PRIMARY KEY (account, file, number)
) STRICT, WITHOUT ROWID;
INSERT INTO new_file_chunks SELECT account, files.seq, file_chunks.seq, hash, file_chunks.size
	FROM files JOIN file_chunks ON file = files.seq ORDER BY account, files.seq, file_chunks.seq;
DROP TABLE file_chunks;
ALTER TABLE new_file_chunks RENAME TO file_chunks;
CREATE INDEX file_chunks_hash ON file_chunks (hash);

CREATE TABLE new_share_chunks (
	account INTEGER NOT NULL,
	content INTEGER NOT NULL,
	number  INTEGER NOT NULL,
	hash    BLOB    NOT NULL,
	size    INTEGER NOT NULL,
	PRIMARY KEY (account, content, number)
) STRICT, WITHOUT ROWID;
INSERT INTO new_share_chunks SELECT account, share_contents.seq, share_chunks.seq, hash, share_chunks.size
	FROM share_contents JOIN share_chunks ON content = share_contents.seq ORDER BY account, share_contents.seq, share_chunks.seq;
DROP TABLE share_chunks;
ALTER TABLE new_share_chunks RENAME TO share_chunks;
CREATE INDEX share_chunks_hash ON share_chunks (hash);

-- A blob dies with the last row that refers to it, whatever removes that row.
CREATE TRIGGER files_let_go BEFORE DELETE ON files WHEN OLD.size > length(OLD.tail) BEGIN
	DELETE FROM file_chunks WHERE account = OLD.account AND file = OLD.seq;
END;
CREATE TRIGGER file_chunks_let_go AFTER DELETE ON file_chunks BEGIN
	INSERT INTO dead_blobs SELECT OLD.hash, OLD.account, OLD.size, NULL
		WHERE NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = OLD.hash)
		AND NOT EXISTS (SELECT 1 FROM share_chunks WHERE hash = OLD.hash)
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER share_contents_let_go BEFORE DELETE ON share_contents WHEN OLD.size > length(OLD.tail) BEGIN
	DELETE FROM share_chunks WHERE account = OLD.account AND content = OLD.seq;
END;
CREATE TRIGGER share_chunks_let_go AFTER DELETE ON share_chunks BEGIN
	INSERT INTO dead_blobs SELECT OLD.hash, OLD.account, OLD.size, NULL
		WHERE NOT EXISTS (SELECT 1 FROM share_chunks WHERE hash = OLD.hash)
		AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = OLD.hash)
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER file_chunks_revive AFTER INSERT ON file_chunks BEGIN
	DELETE FROM dead_blobs WHERE hash = NEW.hash;
END;
