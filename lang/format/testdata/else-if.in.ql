set ?a as 1
-- ELSE and IF on two lines: an IF of its own
if ?a then emit 1 else
if ?a = 2 then emit 2 end
emit 3
end
-- on one line: the same IF
if ?a then emit 1 else   if ?a = 2 then emit 2 else emit 3 end
if ?a then emit 1 else /* comment */ if ?a = 2 then emit 2 end
if ?a then emit 1 else /* comment
over lines */ if ?a = 2 then emit 2 end end
if ?a then emit 1 else -- why
if ?a = 2 then emit 2 end end
