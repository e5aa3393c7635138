-- Dead blobs that are being removed from the disk: nothing may refer to them until they
-- are dead no more.
CREATE TABLE blob_deletions (
	hash BLOB NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
