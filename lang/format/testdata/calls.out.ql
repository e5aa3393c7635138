FETCH ALL ?urls
FETCH ALL ?urls AT MOST 5 TIMEOUT 3 SECONDS SET ?r
FETCH ALL ["https://api.example.com/search", {url: "https://api.example.com/more", method: "POST"}]
  AT MOST ?n
  TIMEOUT 10 SECONDS
  SET ?replies
RUN SCRIPT "report"
RUN SCRIPT ?name USING {a: 1} WITHIN 5 MINUTES SET ?r
START SCRIPT "report" USING ?r SET ?job
START /* here */ SCRIPT "report"
WAIT FOR ?job
WAIT FOR ?job WITHIN 1 HOUR SET ?r
WAIT FOR SIGNAL "paid" -- or never
  WITHIN 3 DAYS
  SET ?d
SIGNAL "paid" TO ?job
SIGNAL ?name USING {a: 1} TO ?job
