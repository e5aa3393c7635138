-- Invitations that are out: those by which no account was made yet, until they end.
CREATE TABLE invitations (
	id       INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again
	hash     BLOB    NOT NULL UNIQUE,
	plan     TEXT    NOT NULL,
	email    TEXT    NOT NULL, -- '' for none
	admin    INTEGER NOT NULL,
	by_admin TEXT    NOT NULL, -- who has invited; '' for the operator
	created  INTEGER NOT NULL,
	expires  INTEGER NOT NULL
) STRICT;
CREATE INDEX invitations_expires ON invitations (expires);
-- One that was revoked makes no account either.
ALTER TABLE spent_invitations ADD COLUMN revoked INTEGER NOT NULL DEFAULT 0;
