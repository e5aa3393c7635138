-- Sends three mails to one address, three days apart. The script runs for six
-- days and needs no memory meanwhile.
--
--   ql run examples/drip.ql --get to=ada@example.com
IF NOT MATCHES(!GET('to') DEFAULT "", '^[^@\s]+@[^@\s]+$') THEN
  FAIL "to is no e-mail address" CODE "bad_request"
END
SET ?mails AS ["Welcome!", "Did you know …", "Last chance"]
FOR ?i, ?text IN ?mails DO
  FETCH "https://mail.example.com/send" METHOD "POST" BODY {to: !GET('to'), text: ?text} SET ?reply
  IF ?reply.status != 200 THEN
    FAIL "the mail service answered {?reply.status}" CODE "mail_failed"
  END
  EMIT LINE "{=NOW()} sent: {?text}"
  IF ?i < COUNT(?mails) - 1 THEN
    WAIT 3 DAYS
  END
END
