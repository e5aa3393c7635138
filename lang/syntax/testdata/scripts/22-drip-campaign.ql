FOR ?day, ?text IN ["Welcome!", "Did you know…", "Last chance"] DO
  FETCH "https://mail.example.com/send" METHOD "POST" BODY {to: !GET('to'), text: ?text} SET ?r
  IF ?day < 2 THEN WAIT 3 DAYS END
END
