/* a */ emit 1 /* b */ emit 2 /* c */ -- d
-- e
   /* f */ /* g */
   emit 3 -- h
if /* i */ true /* j */ then /* k */ -- l
-- m
emit 4 -- n
-- o
else -- p
-- q
emit 5
/* r */ end /* s */ ; -- t
-- u
