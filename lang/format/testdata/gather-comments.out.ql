GATHER "Join" /* the list */ FIELDS -- the form
  -- who
  name TEXT REQUIRED, -- shown in the list
  mail EMAIL, -- never shown
  /* optional */ age  INTEGER MIN /* of age */ 18
-- that is all
WITHIN 1 DAY -- be quick
SET ?f -- the answers
GATHER "Join" FIELDS
  note LONG TEXT LABEL "Tell us whatever you would like us to know about you" HELP "It may be long"
    REQUIRED
SET ?f
