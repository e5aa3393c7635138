-- Whether pages of an account's questions say what may follow an answer, and what that is of each that
-- is asked; NULL where nothing is to be said.
ALTER TABLE accounts ADD COLUMN show_effects INTEGER NOT NULL DEFAULT 0 CHECK (show_effects IN (0, 1));
ALTER TABLE job_prompts ADD COLUMN follows BLOB;
