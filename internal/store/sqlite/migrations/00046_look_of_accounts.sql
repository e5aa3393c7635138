-- How the pages of an account's questions look; '' where it is as usual.
ALTER TABLE accounts ADD COLUMN display_name TEXT NOT NULL DEFAULT '';
ALTER TABLE accounts ADD COLUMN logo TEXT NOT NULL DEFAULT '';
ALTER TABLE accounts ADD COLUMN accent TEXT NOT NULL DEFAULT '';
