SELECT id, name FROM teams SET ?teams
FOR ?t IN ?teams DO
  SELECT id, name FROM people WHERE team = ?t.id SET ?people
  FOR ?p IN ?people DO
    GATHER "Rate {?p.name} ({?t.name})" FIELDS score INTEGER MIN 1 MAX 5 REQUIRED, note LONG TEXT SET ?a
    INSERT INTO ratings (person, score, note) VALUES (?p.id, ?a.score, ?a.note);
  END
END
EMIT "thank you"
