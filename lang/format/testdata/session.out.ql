START SESSION
SET "visits" AS (!SESSION('visits') DEFAULT 0) + 1 OF !SESSION
IF !REQUEST('path') = "/logout" THEN
  END SESSION
  EMIT "Bye"
  STOP
END
EMIT !SESSION.visits, !GET, !GET(), !GET('a').b
