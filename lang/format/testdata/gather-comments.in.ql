gather "Join" /* the list */ fields -- the form
  -- who
  name text required, -- shown in the list
  mail email -- never shown
  , /* optional */ age integer min /* of age */ 18
  -- that is all
  within 1 day -- be quick
  set ?f -- the answers
gather "Join" fields note long text label "Tell us whatever you would like us to know about you" help "It may be long" required set ?f
