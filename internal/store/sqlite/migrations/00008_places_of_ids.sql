-- The key under which ids of jobs are encrypted moments, so that they look random
-- to everybody and stand together in jobs_id. A store that has jobs gets none.
CREATE TABLE id_key (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	key BLOB    NOT NULL
) STRICT;
