SET ?best AS SLICE(SORT_BY(?players, ?p -> [-?p.points, ?p.name]), 0, 5)
FOR ?i, ?p IN ?best DO EMIT LINE ?i + 1, ". ", ?p.name END
SET ?players AS [{name: "Ada", points: 3}, {name: "Bob", points: 5}]
