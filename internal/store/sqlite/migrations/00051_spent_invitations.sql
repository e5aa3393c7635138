-- Invitations by which an account was made, until they would have ended: each makes one.
CREATE TABLE spent_invitations (
	hash    BLOB    PRIMARY KEY,
	expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_invitations_expires ON spent_invitations (expires);
