-- Sums up the orders by month, writes the sums to a CSV file, and shares the file
-- by a link that works five times within a week. Wants the tables of shop.ql.
--
--   ql run examples/report.ql --data ql-data
SELECT SUBSTR(day, 1, 7) AS month, COUNT(*) AS orders, SUM(total) AS revenue
FROM orders
GROUP BY month
ORDER BY month
  SET ?months
WRITE ?months TO "/reports/revenue.csv"
SHARE "/reports/revenue.csv" TIMES 5 FOR 7 DAYS NAMED "revenue.csv" SET ?url
EMIT LINE "Your report: {?url}"
