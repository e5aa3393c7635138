EMIT 1 + 2 * -3, ?a OR NOT ?b AND ?c, ?x NOT IN [1, 2], ?y IS NOT NULL
EMIT ?order.items[0].name DEFAULT "none", !GET, !GET(), !POST('a').b
EMIT MAP(?l, ?x -> ?x * 2), REDUCE(?l, (?a, ?b) -> ?a + ?b, 0), now()
EMIT CASE WHEN ?a THEN 1 WHEN ?b THEN 2 ELSE 3 END
EMIT {name: 'it''s', "a b": {}, end: [TRUE, FALSE, NULL]}, (1)
EMIT HTML "<b>{?name}</b>", "{=1 + 1}{!JOB('id')}", """
  two
    lines
  """
