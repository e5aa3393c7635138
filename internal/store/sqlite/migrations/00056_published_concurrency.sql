-- Of jobs of a published script no more than so many are under way; '' for no bound.
ALTER TABLE published_scripts ADD COLUMN concurrency_key  TEXT    NOT NULL DEFAULT '';
ALTER TABLE published_scripts ADD COLUMN concurrency_most INTEGER NOT NULL DEFAULT 0;
