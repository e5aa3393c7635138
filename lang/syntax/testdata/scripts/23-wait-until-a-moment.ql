SET ?start AS PARSE_TIME("2026-12-01T08:00:00Z")
WAIT UNTIL ?start
UPDATE banners SET visible = TRUE WHERE name = 'advent';
