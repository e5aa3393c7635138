-- The last change of the schema that a member's program knows, and how many contracts were run.
ALTER TABLE members ADD COLUMN knows BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ql_schema ADD COLUMN contracted BIGINT NOT NULL DEFAULT 0;
