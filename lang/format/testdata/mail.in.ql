set ?all as "ada@example.com" set ?page as "x"
mail to "ada@example.com" subject "Hi" text "Hello" mail to ?all subject "Hi" html ?page
mail to ["ada@example.com", "bob@example.com"] subject "The report of the whole month" html "<h1>{?all}</h1>" attach ["/reports/2026.pdf"] set ?id
mail -- whom
  to ?all subject "a" html """<p>{?page}</p>""" from "ops@example.com" -- why
confirm "Pay?" by mail to "ada@example.com" within 1 day set ?ok
gather "a title" fields name text to ?all by mail set ?form
