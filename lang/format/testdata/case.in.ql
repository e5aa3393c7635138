emit case when ?a then 1 end, case when ?a=1 then "x" when ?a=2 then "y" else null end
set ?a as case
  when ?a = 1 then "one" -- the first
  -- the second
  when ?a = 2 then "two"
  else "many" /* more */ end
set ?a as case when ?a = 1 then "a rather long text for one" when ?a = 2 then "a rather long text for two" else "many" end
