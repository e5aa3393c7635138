-- How nodes share out limits of accounts that count jobs: so many for each incarnation.
CREATE TABLE allotments (
	account   INTEGER NOT NULL PRIMARY KEY,
	version   INTEGER NOT NULL,
	contended INTEGER NOT NULL, -- one of them wants more
	nodes     BLOB NOT NULL
) STRICT;
CREATE INDEX allotments_contended ON allotments (account) WHERE contended = 1;
