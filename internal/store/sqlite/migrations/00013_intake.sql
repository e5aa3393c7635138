-- How far the intake, a file beside this one, is stored here; one row. What stands
-- in it after that place is stored by whoever opens the store. The key is in every
-- frame of the file: nobody else knows it.
CREATE TABLE intake (
	one   INTEGER PRIMARY KEY CHECK (one = 1),
	key   BLOB    NOT NULL,
	place INTEGER NOT NULL
) STRICT;
INSERT INTO intake VALUES (1, randomblob(8), 0);
