-- Asks a customer how it was. Whoever does not answer within two days is asked
-- once more, if the team wants to; a bad answer goes to the team at once. TO keeps
-- the two apart: a customer who has answered is not led on to the team's question.
--
--   mkdir -p ql-data
--   ql run examples/survey.ql --data ql-data --get name=Ada
SET ?name AS !GET('name') DEFAULT "there"
TRY
  SET ?answer AS ask("How was it, {?name}?")
CATCH ?e
  IF ?e.code != "expired" THEN
    FAIL ?e
  END
  CONFIRM "{?name} did not answer. Ask again?" TO "team" WITHIN 1 DAY
  SET ?answer AS ask("We would still like to know, {?name}: how was it?")
END
WRITE {name: ?name, answer: ?answer, at: NOW()} TO "/survey/{=SLUG(?name)}.json"

IF ?answer.score <= 2 THEN
  CONFIRM "{?name} gave {?answer.score} of 5: \"{?answer.note}\". Has somebody called?"
    TO "team"
    WITHIN 1 DAY
    SET ?called
  EMIT LINE CASE WHEN ?called THEN "called" ELSE "not called" END
END
EMIT LINE "Thank you, {?name}."

DEFINE ask(?title)
  GATHER ?title FIELDS
    score INTEGER REQUIRED MIN 1 MAX 5 HELP "1 is bad, 5 is good",
    note  LONG TEXT MAX 1000 LABEL "Anything to add?"
  TO "customer"
  WITHIN 2 DAYS
  SET ?answer
  RETURN ?answer
END
