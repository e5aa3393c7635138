-- Content that a job goes through which is suspended, or stored on its way: it stays whatever
-- becomes of the file, as that behind a link does, and stands among those in share_contents.
CREATE TABLE job_contents (
	job     INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,
	content INTEGER NOT NULL REFERENCES share_contents (seq) ON DELETE CASCADE,
	PRIMARY KEY (job, content)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_contents_content ON job_contents (content);

-- Links let go of content when they are pruned, since a broken download may begin again. A job
-- needs none any more.
CREATE TRIGGER job_contents_let_go AFTER DELETE ON job_contents BEGIN
	DELETE FROM share_contents WHERE seq = OLD.content
		AND NOT EXISTS (SELECT 1 FROM shares WHERE content = OLD.content)
		AND NOT EXISTS (SELECT 1 FROM job_contents WHERE content = OLD.content);
END;

-- The file of which a job holds content may have been replaced before.
CREATE TRIGGER share_chunks_revive AFTER INSERT ON share_chunks BEGIN
	DELETE FROM dead_blobs WHERE hash = NEW.hash;
END;
