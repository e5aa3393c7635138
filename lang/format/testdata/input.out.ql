-- What callers give.
INPUT FIELDS
  name TEXT REQUIRED,
  qty  INTEGER MIN 1 DEFAULT 1,
  size CHOICE ["S", "M"] -- of the shirt
EMIT !INPUT('name'), !INPUT.qty
