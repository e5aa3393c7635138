-- The last change of the schema that a member's program knows, where there are several.
ALTER TABLE members ADD COLUMN knows INTEGER NOT NULL DEFAULT 0;
