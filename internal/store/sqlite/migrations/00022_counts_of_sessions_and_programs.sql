-- Who adds or removes a session or a program counts it, in the same change.
DROP TRIGGER sessions_made;
DROP TRIGGER sessions_removed;
DROP TRIGGER programs_added;
DROP TRIGGER programs_removed;
