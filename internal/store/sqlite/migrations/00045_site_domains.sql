-- Domains at which owners want their sites served. Several accounts may ask for one, and one of them
-- has it proved.
CREATE TABLE site_domains (
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	domain  TEXT    NOT NULL,
	added   INTEGER NOT NULL,
	proven  INTEGER, -- null where it is not
	checked INTEGER, -- when the proof was last looked for, null for never
	missing INTEGER, -- since when it is not found any more, null where it was there
	PRIMARY KEY (account, domain)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX site_domains_proven ON site_domains (domain) WHERE proven IS NOT NULL;
CREATE INDEX site_domains_checked ON site_domains (checked) WHERE proven IS NOT NULL;

-- When a certificate for a domain was last ordered, for as long as orders are counted.
CREATE TABLE certificate_orders (
	domain  TEXT    PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	at      INTEGER NOT NULL,
	renewal INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX certificate_orders_at ON certificate_orders (at);
CREATE INDEX certificate_orders_account ON certificate_orders (account);
