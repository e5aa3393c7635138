-- Who suspends a job, or ends one that was, counts it, in the same change.
DROP TRIGGER jobs_held;
DROP TRIGGER jobs_removed;
