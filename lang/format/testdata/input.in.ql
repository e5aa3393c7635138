-- What callers give.
input fields name text required,
  qty integer MIN 1 default 1, size choice ["S","M"]   -- of the shirt
emit !input('name'),!INPUT.qty
