-- The format of a job's snapshot, so that who cannot read it does not claim the job. Those
-- of before can be read by all.
ALTER TABLE jobs ADD COLUMN format INTEGER NOT NULL DEFAULT 0;

-- Jobs are claimed by account: those of a member, and those of nobody, when they are due.
DROP INDEX jobs_member;
CREATE INDEX jobs_member ON jobs (member, state, account) WHERE member IS NOT NULL;
CREATE INDEX jobs_due_account ON jobs (account, due) WHERE program IS NOT NULL AND member IS NULL;
