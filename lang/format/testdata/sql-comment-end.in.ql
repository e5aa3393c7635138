select 1 -- one
;
select 2 -- two
set ?x
select 3 /* three */;
select '--' ;
select 4 set /* why */ value ?x -- trailing
select 5 where a in ( -- these
  ?x ) and b = ?x[ /* first */ 0];
select 6 -- six
