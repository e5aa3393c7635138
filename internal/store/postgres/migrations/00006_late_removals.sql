-- When a blob was removed whose removal may take effect late: until the deletion is
-- dropped nothing may refer to it; null while it is being removed.
ALTER TABLE blob_deletions ADD COLUMN removed BIGINT;
