SET ?a AS [ -- all
  1, -- one
  -- two is next
  2 /* two */,
  /* three */ 3,
  4 -- four
  -- none left
] -- done
SET ?a AS [/* nothing */]
SET ?a AS [
  -- nothing
]
SET ?a AS [1 /* one */, /* two */ 2 /* end */]
SET ?a AS {
  a: 1, -- a
  /* b is
     important */
  b: -- the value follows
    2,
  c /* key */: /* value */ 3 -- c
}
