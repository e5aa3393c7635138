SET ?all AS "ada@example.com"
SET ?page AS "x"
MAIL TO "ada@example.com" SUBJECT "Hi" TEXT "Hello"
MAIL TO ?all SUBJECT "Hi" HTML ?page
MAIL TO ["ada@example.com", "bob@example.com"]
  SUBJECT "The report of the whole month"
  HTML "<h1>{?all}</h1>"
  ATTACH ["/reports/2026.pdf"]
  SET ?id
MAIL -- whom
  TO ?all
  SUBJECT "a"
  HTML """<p>{?page}</p>"""
  FROM "ops@example.com" -- why
CONFIRM "Pay?" BY MAIL TO "ada@example.com" WITHIN 1 DAY SET ?ok
GATHER "a title" FIELDS name TEXT TO ?all BY MAIL SET ?form
