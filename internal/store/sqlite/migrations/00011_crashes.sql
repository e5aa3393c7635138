-- How many attempts at a job in a row ended with their process, without getting
-- on, and how much of a journal the last of them found.
ALTER TABLE jobs ADD COLUMN crashes   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN recovered INTEGER NOT NULL DEFAULT 0; -- bytes
