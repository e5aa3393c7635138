-- How nodes share out limits of accounts that count jobs: so many for each incarnation.
CREATE TABLE allotments (
	account   BIGINT NOT NULL PRIMARY KEY,
	version   BIGINT NOT NULL,
	contended BIGINT NOT NULL, -- one of them wants more
	nodes     BYTEA NOT NULL
);
CREATE INDEX allotments_contended ON allotments (account) WHERE contended = 1;
