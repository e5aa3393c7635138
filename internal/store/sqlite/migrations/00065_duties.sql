-- Which incarnation of a node does what one does for all.
CREATE TABLE duties (
	name   TEXT NOT NULL PRIMARY KEY,
	member INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
