-- Checksums of what callers get as it stands in a row: the result of a job that has
-- ended, and the end of a file. Null for what is older than this.
ALTER TABLE jobs ADD COLUMN checksum INTEGER;
ALTER TABLE files ADD COLUMN checksum INTEGER;
