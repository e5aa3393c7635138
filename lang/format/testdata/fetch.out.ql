FETCH "https://a.example"
FETCH "https://a.example" TIMEOUT 1 MINUTE SET ?r
FETCH "https://api.example.com/search"
  QUERY {q: ?r, limit: 10}
  HEADERS {"Authorization": "Bearer {!SECRET('search_key')}"}
  TIMEOUT 5 SECONDS
  SET ?r
FETCH "https://mail.example.com"
  BODY {
    to: "a@example.com",
    text: "x"
  }
  METHOD "POST"
  SET ?r
FETCH "https://mail.example.com" -- the mailer
  METHOD "POST" -- sends
  /* what */ BODY ?r
SET ?x AS 1
