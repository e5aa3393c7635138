-- A listing that asks for names, days or conventions looks at no row: what it asks for is in the
-- index by which it goes through an account's jobs. Nothing of that changes after a job is stored.
DROP INDEX jobs_account;
CREATE INDEX jobs_account ON jobs (account, seq, created, convention, credential, name);

-- Those that did not end well are few, and only they are in these.
CREATE INDEX jobs_ended ON jobs (account, state, seq) WHERE finished IS NOT NULL AND state <> 'complete';
CREATE INDEX jobs_error ON jobs (account, error_code, seq) WHERE error IS NOT NULL;
