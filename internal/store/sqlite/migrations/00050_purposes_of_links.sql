-- What a link is for, that a page of the dashboard makes by itself and lists nowhere: 'download' or
-- 'preview', and '' for the links that people and scripts make.
ALTER TABLE shares ADD COLUMN purpose TEXT NOT NULL DEFAULT '';
CREATE INDEX shares_hidden ON shares (expires) WHERE purpose <> '';
