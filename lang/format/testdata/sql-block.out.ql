IF TRUE THEN
  select a
from t
      where b = 1;
  select 1 SET ?x
  FOR ?x IN [1] DO
    insert into t
    (a) values (?x);
  END
END
create table if not exists posts (
  id INTEGER PRIMARY KEY,
  read INTEGER DEFAULT 0
);
create trigger stamp after insert on posts begin
  update posts set title = trim(title) where id = NEW.id;
end;
EMIT 1
