fetch "https://a.example" fetch "https://a.example" timeout 1 minute set ?r
FETCH "https://api.example.com/search" QUERY {q: ?r, limit: 10}
  HEADERS {"Authorization": "Bearer {!SECRET('search_key')}"} TIMEOUT 5 SECONDS SET ?r
fetch "https://mail.example.com" body {
  to: "a@example.com", text: "x"} method "POST" set ?r
fetch "https://mail.example.com" -- the mailer
  method "POST" -- sends
  /* what */ body ?r
set ?x as 1
