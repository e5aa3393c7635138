-- The texts of scripts that an account's jobs have, finished or not: each once, with how many
-- jobs have it, so that it goes with the last. Its bytes count with the account's records.
CREATE TABLE sources (
	id      INTEGER PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
	hash    BLOB    NOT NULL, -- of the program; of the text where that does not compile
	jobs    INTEGER NOT NULL,
	month   INTEGER NOT NULL, -- in which it was counted
	bytes   INTEGER NOT NULL, -- that were counted
	text    BLOB    NOT NULL,
	files   BLOB              -- those that it includes, as JSON; null for none
) STRICT;
CREATE UNIQUE INDEX sources_hash ON sources (account, hash);

-- What a job was called with, and what it used. Null for jobs of before.
ALTER TABLE jobs ADD COLUMN name    TEXT;
ALTER TABLE jobs ADD COLUMN source  INTEGER; -- of sources
ALTER TABLE jobs ADD COLUMN request BLOB;    -- sealed; null for nothing
ALTER TABLE jobs ADD COLUMN origin  INTEGER; -- the seq of the job that it repeats
ALTER TABLE jobs ADD COLUMN fuel    INTEGER;
ALTER TABLE jobs ADD COLUMN memory  INTEGER; -- bytes
ALTER TABLE jobs ADD COLUMN fetches INTEGER;

-- The code of a job's error, of jobs of before too.
ALTER TABLE jobs ADD COLUMN error_code TEXT GENERATED ALWAYS AS
	(CASE WHEN error IS NOT NULL AND json_valid(CAST(error AS TEXT)) THEN CAST(error AS TEXT) ->> '$.code' END) VIRTUAL;
