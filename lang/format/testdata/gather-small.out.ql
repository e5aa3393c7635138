GATHER "Rate" FIELDS score INTEGER MIN 1 MAX 5 REQUIRED, note LONG TEXT SET ?a
GATHER "Rate this person, and be honest: nobody will see it" FIELDS
  score INTEGER MIN 1 MAX 5 REQUIRED,
  note  LONG TEXT
SET ?a
GATHER "Rate" FIELDS
  size CHOICE [
    "S",
    "M"
  ] REQUIRED
SET ?a
