-- A job whose program reaches databases of its account is claimed where those are.
ALTER TABLE jobs ADD COLUMN uses_databases BIGINT NOT NULL DEFAULT 0;
-- Of those that are under way nobody has looked.
UPDATE jobs SET uses_databases = 1 WHERE program IS NOT NULL;
-- Which incarnation of a node has a session, and runs the call of an idempotency key; 0 for none.
ALTER TABLE sessions ADD COLUMN holder BIGINT NOT NULL DEFAULT 0;
ALTER TABLE idempotency_keys ADD COLUMN member BIGINT NOT NULL DEFAULT 0;
-- The nodes by the marks of their data folders. That of the first one has the databases of accounts.
CREATE TABLE nodes (
	id   BIGINT NOT NULL PRIMARY KEY,
	mark TEXT COLLATE "C" NOT NULL UNIQUE
);
INSERT INTO nodes (id, mark) SELECT 1, mark FROM bound_folder;
-- The mark of the bucket with the contents of files; '' where they are in that folder.
ALTER TABLE bound_folder ADD COLUMN blobs TEXT COLLATE "C" NOT NULL DEFAULT '';
