SELECT [it's] FROM t ORDER BY { ?by  in name,t.city , "a b" } {?dir IN ASC,DESC};
select * from t; select   a,b
  from   t
where x=?x   and y = !get( 'y' )  set ?rows
select count(*) from t set   value ?n   select * from t where id=?m [ 1 ] ;
select 1 set row ?r insert into t (a) values (?r.a, ?m[ 'b' ].c, !post.x);
update t set a = 1 where b in ( ?ids ) and c in ?ids and d not in (?ids);
set ?x as 1 set ?m as {} set ?ids as []
with x as (select 1) select * from x;
replace into t values (1); delete from t; alter table t add b; drop table t; explain select 1;
select 'a  -- b', "c;d", $$ e ; f $$ from t -- a comment of the engine
where 1 /* another */ = 1;
select * from a_table_with_a_long_name where a_column_with_a_long_name = ?x and another_column = ?m set ?rows
select 1
