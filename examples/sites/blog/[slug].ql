-- One post.
INCLUDE "/site/_lib/page.ql"
INCLUDE "/site/blog/_posts.ql"
SET ?post AS post(!REQUEST('param:slug'))
IF ?post IS NULL THEN
  CALL not_found()
END
CALL page(?post.title, "/site/blog/_post.html", ?post, [{path: "/blog/", label: "Blog"}])
