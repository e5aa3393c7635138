-- Of jobs of a published script no more than so many are under way; '' for no bound.
ALTER TABLE published_scripts ADD COLUMN concurrency_key  TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE published_scripts ADD COLUMN concurrency_most BIGINT NOT NULL DEFAULT 0;
