wait 1 second wait 1 seconds wait 2 minute wait ?n hours wait ?n+1 hour wait 1.5 days wait power(2,?n) weeks
wait until "2026-12-01T08:00:00Z"
set ?n as 1
