if true then
select a
from t
      where b = 1;
      select 1 set ?x
  for ?x in [1] do insert into t
    (a) values (?x); end
end
create table if not exists posts (
  id INTEGER PRIMARY KEY,
  read INTEGER DEFAULT 0
);
create trigger stamp after insert on posts begin
  update posts set title = trim(title) where id = NEW.id;
end;
emit 1
