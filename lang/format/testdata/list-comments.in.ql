set ?a as [ -- all
  1, -- one
  -- two is next
  2 /* two */, /* three */ 3
  , 4 -- four
  -- none left
] -- done
set ?a as [/* nothing */] set ?a as [
  -- nothing
]
set ?a as [1 /* one */, /* two */ 2 /* end */]
set ?a as {
  a: 1, -- a

  /* b is
     important */
  b: -- the value follows
  2,
  c /* key */ : /* value */ 3, -- c
}
