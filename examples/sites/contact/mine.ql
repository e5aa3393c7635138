-- What became of the visitor's question.
INCLUDE "/site/_lib/page.ql"
START SESSION
SET ?id AS !SESSION('message')
IF ?id IS NOT NULL THEN
  SELECT text, state, reply FROM messages WHERE id = ?id SET ROW ?message
END
SET ?said AS CASE ?message.state
  WHEN "waiting" THEN "Your question waits for an answer. Come back in a while."
  WHEN "approved" THEN "Your question was answered."
  WHEN "declined" THEN "Your question was read, and is not shown."
  WHEN "expired" THEN "Nobody found the time to answer. Please ask again."
  ELSE "You have asked nothing here."
END
CALL page("My question", "/site/contact/_mine.html", {said: ?said, message: ?message}, [
  {path: "/contact/", label: "Contact"}
])
