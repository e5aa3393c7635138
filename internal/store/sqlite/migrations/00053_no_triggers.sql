-- Who changes what is counted counts it, in the same change, and who lets go of a blob says so: the
-- same statements do that on every engine.
DROP TRIGGER dead_blobs_added;
DROP TRIGGER dead_blobs_dropped;
DROP TRIGGER file_chunks_left;
DROP TRIGGER file_chunks_let_go;
DROP TRIGGER file_chunks_revive;
DROP TRIGGER file_chunks_taken;
DROP TRIGGER files_let_go;
DROP TRIGGER job_contents_let_go;
DROP TRIGGER share_chunks_let_go;
DROP TRIGGER share_chunks_revive;
DROP TRIGGER share_contents_let_go;
DROP TRIGGER sign_ins_disabled;
DROP TRIGGER sign_ins_password;
DROP TRIGGER site_chunks_added;
DROP TRIGGER site_chunks_dropped;
DROP TRIGGER site_chunks_let_go;
DROP TRIGGER site_chunks_revive;
DROP TRIGGER site_contents_added;
DROP TRIGGER site_contents_let_go;
DROP TRIGGER site_releases_added;
DROP TRIGGER site_releases_dropped;
DROP TRIGGER usage_next_day;
