-- Whom a question is for, '' where its script does not say, and whether the script has read the
-- address of its page before it asked.
ALTER TABLE job_prompts ADD COLUMN audience TEXT    NOT NULL DEFAULT '';
ALTER TABLE job_prompts ADD COLUMN sent     INTEGER NOT NULL DEFAULT 0;
