-- Mails that scripts send. What one says goes when it is settled.
CREATE TABLE mails (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT,
	account    INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	id         TEXT    NOT NULL,
	job        BLOB,             -- whose step it is, null for that of a call
	state      TEXT    NOT NULL, -- pending, sent, failed
	attempts   INTEGER NOT NULL,
	due        INTEGER,          -- of the next attempt, or when a claim ends; null when settled
	made       INTEGER NOT NULL,
	settled    INTEGER,
	recipients INTEGER NOT NULL,
	size       INTEGER NOT NULL, -- of the message, about
	waiting    INTEGER NOT NULL, -- bytes of body
	head       BLOB    NOT NULL, -- sealed: from, to and subject
	body       BLOB,             -- sealed
	outcomes   TEXT    NOT NULL, -- JSON, for each recipient
	error      TEXT    NOT NULL,
	UNIQUE (account, id)
) STRICT;
CREATE UNIQUE INDEX mails_account ON mails (account, seq);
CREATE INDEX mails_due ON mails (due) WHERE due IS NOT NULL;
CREATE INDEX mails_account_due ON mails (account, due) WHERE due IS NOT NULL;
CREATE INDEX mails_settled ON mails (settled) WHERE settled IS NOT NULL;
CREATE INDEX mails_rate ON mails (account, made, recipients);

-- The files that go with a mail, until it is settled.
CREATE TABLE mail_contents (
	account INTEGER NOT NULL,
	mail    INTEGER NOT NULL,
	number  INTEGER NOT NULL,
	content INTEGER NOT NULL REFERENCES share_contents (seq) ON DELETE CASCADE,
	PRIMARY KEY (account, mail, number),
	FOREIGN KEY (account, mail) REFERENCES mails (account, seq) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_contents_content ON mail_contents (content);
