-- Removes files that nobody has changed for 30 days, or as many as given. Meant to
-- be run every night.
--
--   mkdir -p ql-data/uploads
--   ql run examples/cleanup.ql --data ql-data --get days=90
SET ?days AS NUMBER(!GET('days')) DEFAULT 30
SET ?before AS ADD_TIME(NOW(), -?days, "days")
SET ?removed AS 0
SET ?bytes AS 0
LIST "/uploads" SET ?files
FOR ?f IN ?files DO
  -- Times are texts that sort as the moments do.
  IF ?f.folder OR ?f.modified >= ?before THEN
    CONTINUE
  END
  REMOVE ?f.path
  SET ?removed AS ?removed + 1
  SET ?bytes AS ?bytes + ?f.size
  APPEND LINE "{=NOW()} removed {?f.path}, changed {?f.modified}" TO FILE "/logs/cleanup.log"
END
EMIT LINE "Files removed: {?removed}, bytes: {?bytes}"
