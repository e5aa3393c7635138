fetch all ?urls fetch all ?urls at most 5 timeout 3 seconds set ?r
FETCH ALL ["https://api.example.com/search", {url: "https://api.example.com/more", method: "POST"}] AT MOST ?n TIMEOUT 10 SECONDS SET ?replies
run script "report" run script ?name using {a: 1} within 5 minutes set ?r
start script "report" using ?r set ?job
start /* here */ script "report"
wait for ?job wait for ?job within 1 hour set ?r
wait for signal "paid" -- or never
  within 3 days set ?d
signal "paid" to ?job signal ?name using {a: 1} to ?job
