-- The latest posts of a blog.
INCLUDE "/site/_lib/page.ql"
INCLUDE "/site/blog/_posts.ql"
CALL page("Blog", "/site/blog/_list.html", {posts: latest(20)}, [
  {path: "/blog/feed.xml", label: "Feed", feed: TRUE}
])
