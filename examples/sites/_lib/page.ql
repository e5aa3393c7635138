-- The layout of pages: INCLUDE "/site/_lib/page.ql".
INCLUDE "/site/_lib/flash.ql"

-- Shows a template inside the layout. Links in its head are {path, label},
-- with feed: TRUE where they lead to one.
DEFINE page(?title, ?template, ?data, ?links DEFAULT [])
  SET ?head AS {title: ?title, base: !REQUEST('base'), links: ?links, notice: take_flash()}
  RENDER "/site/_lib/head.html" USING ?head
  RENDER ?template USING ?data
  RENDER "/site/_lib/foot.html"
END

-- Leads to another page of the site, and ends the script. The browser asks for it by
-- GET, so that loading it again sends nothing twice.
DEFINE lead_to(?path)
  SET "status" AS 303 OF !RESPONSE
  SET "header:Location" AS "{!REQUEST('base')}{?path}" OF !RESPONSE
  STOP
END

-- Says that there is no such page, and ends the script.
DEFINE not_found()
  SET "status" AS 404 OF !RESPONSE
  CALL page("There is no such page", "/site/_lib/404.html", {base: !REQUEST('base')})
  STOP
END
