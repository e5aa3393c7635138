-- A number that is counted up, in one row, where a commit has failed: what that left
-- in the log is written over, so that no crash brings it back.
CREATE TABLE seal (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	number INTEGER NOT NULL
) STRICT;
INSERT INTO seal VALUES (1, 0);
