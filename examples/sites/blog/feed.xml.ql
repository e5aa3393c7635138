-- The latest posts as an Atom feed.
INCLUDE "/site/blog/_posts.ql"
SET ?posts AS latest(20)
SET ?base AS "{!REQUEST('base')}/blog/"
-- By these readers know what they have seen.
SET ?tag AS "tag:{!REQUEST('host')},2026:{?base}"
SET "header:Content-Type" AS "application/atom+xml; charset=utf-8" OF !RESPONSE
EMIT '<?xml version="1.0" encoding="utf-8"?>'
EMIT TO_XML({
  feed: {
    "@xmlns": "http://www.w3.org/2005/Atom",
    title: "Blog",
    id: ?tag,
    updated: PARSE_TIME(?posts[0].day DEFAULT "2026-01-01"),
    author: {name: !ACCOUNT('username')},
    link: [{"@rel": "self", "@href": ?base + "feed.xml"}, {"@href": ?base}],
    entry: MAP(?posts, ?p -> {
      title: ?p.title,
      id: ?tag + ?p.slug,
      updated: PARSE_TIME(?p.day),
      link: {"@href": ?base + ?p.slug},
      content: JOIN(?p.paragraphs, "\n\n")
    })
  }
})
