SET ?q AS !GET('q')
IF ?q IS NULL THEN FAIL "q is missing" CODE "bad_request" END
FETCH "https://api.example.com/search" QUERY {q: ?q, limit: 10}
  HEADERS {"Authorization": "Bearer {!SECRET('search_key')}"} TIMEOUT 5 SECONDS SET ?r
IF ?r.status != 200 THEN FAIL "search answered {?r.status}" CODE "upstream" END
SET "header:Content-Type" AS "application/json" OF !RESPONSE
EMIT MAP(?r.json.items, ?i -> {title: ?i.name, url: ?i.link})
