-- Whose accounts the last changes that all members must see were of; 0 for all of them. Older rows are removed.
CREATE TABLE changes (
	change  BIGINT NOT NULL,
	account BIGINT NOT NULL,
	PRIMARY KEY (change, account)
);
