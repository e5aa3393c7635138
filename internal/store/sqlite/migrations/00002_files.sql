-- An account's tree of files. A file's content is its chunks, which are blobs
-- outside the store, and after them its tail.

-- One row for each account that has or had files. The generation grows with
-- each change of the tree: a change is made only where it is still the one that
-- was seen.
CREATE TABLE file_trees (
	account    INTEGER PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
	generation INTEGER NOT NULL,
	bytes      INTEGER NOT NULL,
	nodes      INTEGER NOT NULL
) STRICT;

CREATE TABLE files (
	seq      INTEGER PRIMARY KEY,
	account  INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	key      TEXT    NOT NULL, -- the path, folded: no two files differ in case alone
	parent   TEXT    NOT NULL, -- the folder's key; '' for the top
	path     TEXT    NOT NULL,
	folder   INTEGER NOT NULL,
	size     INTEGER NOT NULL,
	modified INTEGER NOT NULL,
	tail     BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX files_key ON files (account, key);
CREATE INDEX files_parent ON files (account, parent);

CREATE TABLE file_chunks (
	seq  INTEGER PRIMARY KEY, -- in the order of the content
	file INTEGER NOT NULL REFERENCES files (seq) ON DELETE CASCADE,
	hash BLOB    NOT NULL,
	size INTEGER NOT NULL
) STRICT;
CREATE INDEX file_chunks_file ON file_chunks (file, seq);
CREATE INDEX file_chunks_hash ON file_chunks (hash);
