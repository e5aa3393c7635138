/* a */
EMIT 1 /* b */
EMIT 2 /* c */ -- d
-- e
/* f */ /* g */
EMIT 3 -- h
IF /* i */ TRUE /* j */ THEN /* k */ -- l
  -- m
  EMIT 4 -- n
  -- o
ELSE -- p
  -- q
  EMIT 5
  /* r */
END /* s */ -- t
-- u
