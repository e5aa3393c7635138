GATHER "Where shall we ship?" FIELDS
  name        TEXT REQUIRED,
  email       EMAIL REQUIRED,
  qty         INTEGER MIN 1 MAX 10 DEFAULT 1,
  size        CHOICE ["S", "M", "L"],
  extra       CHOICES {gift: "Gift wrap", fast: "Express"},
  "your mood" LONG TEXT LABEL "Anything else?" HELP "For the driver",
  When        DATE,
  news        BOOLEAN,
  photo       FILE,
  link        URL,
  tel         PHONE,
  pin         SECRET PATTERN '[0-9]{4}',
  n           NUMBER,
  t           TIME
WITHIN 7 DAYS
SET ?form
GATHER "Who?" FIELDS
  name TEXT,
  age  INTEGER,
  note TEXT
WITHIN 1 DAY
TO "customer"
SET ?f
GATHER "Who?" FIELDS
  name TEXT
TO "customer" -- the one who asks
WITHIN 1 DAY
SET ?f
GATHER "name" TO "customer" SET ?f
