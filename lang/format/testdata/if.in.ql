set ?a as 1
if ?a=1 then emit 1 end
if ?a == 1 then emit 1 else emit 2 end
if ?a <> 1 then emit 1 else if ?a < 3 then emit 2 else if not ?a then emit 3 else emit 4 end
if ?a then else end
if ?a then
  emit 1


  else

  emit 2

end
