-- When an account was last emptied by the upkeep; null for never.
ALTER TABLE accounts ADD COLUMN emptied INTEGER;

-- Accounts that are being removed, and those that were lately: a row outlives
-- its account, as scripts of it may still end.
CREATE TABLE departures (
	account INTEGER PRIMARY KEY,
	since   INTEGER NOT NULL
) STRICT;
