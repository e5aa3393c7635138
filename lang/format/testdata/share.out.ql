SHARE "/a.pdf" SET ?url
SHARE "/a.pdf" NAMED "june.pdf" FOR 7 DAYS TIMES 5 SET ?url
SHARE "/a" UNLIMITED SET ?url
SHARE "/reports/2026/june/the-whole-report.pdf"
  TIMES 5
  FOR 7 DAYS
  NAMED "report-of-june-2026.pdf"
  SET ?url
UNSHARE ?url
FOR ?x IN [1] DO
  SHARE "/a" SET ?url
  FOR ?y IN [2] DO
    EMIT ?y
  END
END
