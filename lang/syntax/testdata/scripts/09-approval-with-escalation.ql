TRY
  CONFIRM "Deploy to production?" WITHIN 4 HOURS SET ?ok
CATCH ?e
  IF ?e.code != "expired" THEN FAIL ?e END
  CONFIRM "Nobody answered in 4 hours. Deploy?" WITHIN 1 DAY SET ?ok
END
EMIT CASE WHEN ?ok THEN "deploying" ELSE "not deploying" END
