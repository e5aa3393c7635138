-- Which incarnation of a node does what one does for all.
CREATE TABLE duties (
	name   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	member BIGINT NOT NULL
);
