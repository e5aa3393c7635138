START SESSION
GATHER "Tell us" FIELDS
  "your mood" CHOICES ["good", "tired", "curious"],
  when DATE REQUIRED,
  photo FILE
WITHIN 2 DAYS
SET ?a
SET "last" AS ?a.when OF !SESSION
WRITE ?a TO "/survey/{!JOB('id')}.json"
IF ?a.photo THEN MOVE ?a.photo.path TO "/survey/{!JOB('id')}-{?a.photo.name}" END
FETCH "https://mail.example.com/send" METHOD "POST" BODY {to: "team@example.com", text: TO_JSON(?a)}
EMIT "Thank you"
