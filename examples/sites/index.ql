-- What there is to look at.
INCLUDE "/site/_lib/page.ql"
CALL page("Examples", "/site/_lib/index.html", {})
