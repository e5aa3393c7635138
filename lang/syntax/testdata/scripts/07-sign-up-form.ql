GATHER "Join our newsletter" FIELDS
  name  TEXT REQUIRED LABEL "Your name",
  email EMAIL REQUIRED,
  age   INTEGER MIN 16 MAX 120,
  plan  CHOICE {free: "Free", pro: "Pro, 5 € a month"} DEFAULT "free",
  terms BOOLEAN REQUIRED LABEL "I accept the terms"
WITHIN 1 DAY
SET ?f
INSERT INTO members (name, email, age, plan) VALUES (?f.name, ?f.email, ?f.age, ?f.plan);
EMIT "Welcome, {?f.name}!"
