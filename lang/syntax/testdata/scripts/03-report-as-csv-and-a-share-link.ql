SELECT month, SUM(total) AS revenue FROM orders GROUP BY month ORDER BY month SET ?rows
WRITE ?rows TO "/reports/revenue.csv"
SHARE "/reports/revenue.csv" TIMES 5 FOR 7 DAYS NAMED "revenue.csv" SET ?url
EMIT "Your report: {?url}"
