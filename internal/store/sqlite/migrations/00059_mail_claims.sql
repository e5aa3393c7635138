-- Which incarnation of a node has claimed a mail; null for none. What a dead one has claimed is due at once.
ALTER TABLE mails ADD COLUMN claimed_by INTEGER;
CREATE INDEX mails_claimed ON mails (claimed_by) WHERE claimed_by IS NOT NULL;
