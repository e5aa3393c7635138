emit upper( lower ( ?x ) ),map(?l,?i->?i+1),reduce(?l,(?a,?b)->?a+?b,0), filter(?l, (?q) -> ?q)
emit map(?r.json.items, ?i -> {title: ?i.name, url: ?i.link, description: ?i.description, image: ?i.image.url})
emit map(?r.json.items, ?i -> {
title: ?i.name})
emit to_json(map(?l, ?i -> [
1, ?i]))
emit replace(replace(?template_of_the_mail, "[name]", !GET('name')), "[date]", format_time(now(), "2 January 2006"))
set ?x as f({a: 1}, [
 2], 3)
emit f( -- comment
 1, 2), f(1 /* one */, 2 /* two */), f /* name */ (1)
define f(?a, ?b default 1, ?c default 1) end
set ?l as [] set ?r as {} set ?template_of_the_mail as ""
