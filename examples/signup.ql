-- A sign-up form. An address that is taken is asked for again.
--
--   mkdir -p ql-data
--   ql run examples/signup.ql --data ql-data
CREATE TABLE IF NOT EXISTS members (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE,
  plan TEXT NOT NULL,
  age INTEGER
);

SET ?title AS "Join us"
SET ?joined AS FALSE
WHILE NOT ?joined DO
  GATHER ?title FIELDS
    name  TEXT REQUIRED MAX 80 LABEL "Your name",
    email EMAIL REQUIRED LABEL "Your e-mail address",
    age   INTEGER MIN 16 MAX 120 LABEL "Your age",
    plan  CHOICE {free: "Free", pro: "Pro, 5 € a month"} DEFAULT "free",
    terms BOOLEAN REQUIRED LABEL "I accept the terms"
  WITHIN 1 DAY
  SET ?form
  IF NOT ?form.terms THEN
    EMIT LINE "Without the terms there is no account."
    STOP
  END
  TRY
    INSERT INTO members (name, email, age, plan)
    VALUES (?form.name, LOWER(?form.email), ?form.age, ?form.plan);
    SET ?joined AS TRUE
  CATCH ?e
    IF ?e.code != "unique" THEN
      FAIL ?e
    END
    SET ?title AS "{?form.email} has an account already. Another address?"
  END
END
EMIT LINE "Welcome, {?form.name}!"
