-- A job whose program reaches databases of its account is claimed where those are.
ALTER TABLE jobs ADD COLUMN uses_databases INTEGER NOT NULL DEFAULT 0;
-- Which incarnation of a node has a session, and runs the call of an idempotency key; 0 for none.
ALTER TABLE sessions ADD COLUMN holder INTEGER NOT NULL DEFAULT 0;
ALTER TABLE idempotency_keys ADD COLUMN member INTEGER NOT NULL DEFAULT 0;
