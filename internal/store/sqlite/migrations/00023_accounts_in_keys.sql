-- What belongs to a link or a delivery stands under its account too.
DROP INDEX shares_account;
CREATE UNIQUE INDEX shares_account ON shares (account, seq);
ALTER TABLE share_receipts RENAME TO old_share_receipts;
CREATE TABLE share_receipts (
	account  INTEGER NOT NULL,
	share    INTEGER NOT NULL,
	number   INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	address  TEXT    NOT NULL,
	agent    TEXT    NOT NULL,
	client   BLOB    NOT NULL, -- its cookie, hashed
	restarts INTEGER NOT NULL,
	sent     INTEGER NOT NULL, -- bytes, by the attempt that came farthest
	finished INTEGER,
	PRIMARY KEY (account, share, number),
	FOREIGN KEY (account, share) REFERENCES shares (account, seq) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO share_receipts SELECT shares.account, share, number, at, address, agent, client, restarts, sent, finished
	FROM old_share_receipts JOIN shares ON shares.seq = share;
DROP TABLE old_share_receipts;

DROP INDEX deliveries_account;
CREATE UNIQUE INDEX deliveries_account ON deliveries (account, seq);
ALTER TABLE delivery_attempts RENAME TO old_delivery_attempts;
CREATE TABLE delivery_attempts (
	account  INTEGER NOT NULL,
	delivery INTEGER NOT NULL,
	number   INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	took     INTEGER NOT NULL, -- microseconds
	status   INTEGER NOT NULL, -- of HTTP, 0 where there was no answer
	answer   TEXT    NOT NULL, -- its start, printable
	error    TEXT    NOT NULL,
	PRIMARY KEY (account, delivery, number),
	FOREIGN KEY (account, delivery) REFERENCES deliveries (account, seq) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO delivery_attempts SELECT account, delivery, number, at, took, old_delivery_attempts.status, answer, error
	FROM old_delivery_attempts JOIN deliveries ON seq = delivery;
DROP TABLE old_delivery_attempts;
