GATHER "Join" FIELDS
  name TXET,
  age INTEGER
SET ?f
