-- What is in a folder is read in pages, by path.
DROP INDEX files_parent;
CREATE INDEX files_parent ON files (account, parent, path);
