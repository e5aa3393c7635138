select 1 -- one
;
select 2 -- two
  SET ?x
select 3 /* three */;
select '--';
select 4 SET /* why */ VALUE ?x -- trailing
select 5 where a in ( -- these
  ?x ) and b = ?x[ /* first */ 0];
select 6 -- six
;
