-- Whatever address has no page.
INCLUDE "/site/_lib/page.ql"
CALL not_found()
