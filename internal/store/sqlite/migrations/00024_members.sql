-- The processes that share this store. A node's process joins as its next
-- incarnation; the counter grows while it lives. See docs/decisions/0032.
CREATE TABLE members (
	id          INTEGER PRIMARY KEY, -- of the node
	incarnation INTEGER NOT NULL UNIQUE,
	counter     INTEGER NOT NULL,
	seen        INTEGER NOT NULL,    -- the last change that it has seen
	version     TEXT    NOT NULL,
	formats     INTEGER NOT NULL,    -- the newest format of snapshots that it reads
	address     TEXT    NOT NULL     -- '' for none
) STRICT;

-- One row: the number of the last change that all members must see, and of the last
-- incarnation that was given.
CREATE TABLE head (
	one         INTEGER PRIMARY KEY CHECK (one = 1),
	last        INTEGER NOT NULL,
	incarnation INTEGER NOT NULL
) STRICT;
INSERT INTO head VALUES (1, 0, 0);

-- A job that is accepted or running belongs to an incarnation of a member: as long as
-- that lives, no other takes it, and due is when it was claimed. One that belongs to
-- nobody can be claimed when it is due. Those of before belong to one that never was;
-- leases of then ended 30 seconds after the claim.
ALTER TABLE jobs ADD COLUMN member INTEGER;
UPDATE jobs SET member = 0, due = CASE state WHEN 'running' THEN due - 30000000 ELSE due END
	WHERE program IS NOT NULL AND state IN ('accepted', 'running');

-- Each job that is not finished is in one of these.
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (state, due) WHERE program IS NOT NULL AND member IS NULL;
CREATE INDEX jobs_member ON jobs (member, state) WHERE member IS NOT NULL;
-- Those that somebody asked to stop, by who is to stop them.
CREATE INDEX jobs_stopping ON jobs (member) WHERE stopping = 1 AND member IS NOT NULL;
