EMIT UPPER(LOWER(?x)),
  MAP(?l, ?i -> ?i + 1),
  REDUCE(?l, (?a, ?b) -> ?a + ?b, 0),
  FILTER(?l, (?q) -> ?q)
EMIT MAP(?r.json.items, ?i -> {
  title: ?i.name,
  url: ?i.link,
  description: ?i.description,
  image: ?i.image.url
})
EMIT MAP(?r.json.items, ?i -> {
  title: ?i.name
})
EMIT TO_JSON(MAP(?l, ?i -> [
  1,
  ?i
]))
EMIT REPLACE(
  REPLACE(?template_of_the_mail, "[name]", !GET('name')),
  "[date]",
  FORMAT_TIME(NOW(), "2 January 2006")
)
SET ?x AS f(
  {a: 1},
  [
    2
  ],
  3
)
EMIT f( -- comment
    1,
    2
  ),
  f(1 /* one */, 2 /* two */),
  f /* name */ (1)
DEFINE f(?a, ?b DEFAULT 1, ?c DEFAULT 1)
END
SET ?l AS []
SET ?r AS {}
SET ?template_of_the_mail AS ""
