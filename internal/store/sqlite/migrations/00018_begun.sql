-- Whether an attempt has a job in its hands. One that has, at the start of a process,
-- was ended with the last one; crashes counts those in a row.
ALTER TABLE jobs RENAME COLUMN recovered TO begun;
UPDATE jobs SET begun = 0 WHERE begun <> 0;
