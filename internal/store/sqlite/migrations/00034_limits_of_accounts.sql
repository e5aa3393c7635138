-- Limits that an account has for itself, instead of its plan's: a map of names to numbers.
ALTER TABLE accounts ADD COLUMN limits TEXT NOT NULL DEFAULT '{}' CHECK (json_type(limits) = 'object');
