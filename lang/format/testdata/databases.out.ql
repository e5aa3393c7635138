USE DATABASE "shop"
TRANSACTION
  USE DATABASE ?x
  insert into t values (1);
END
RENDER "/page.html"
RENDER "/page.html" USING {title: "x"}
RENDER "/page.html" USING {
  title: "x"
}
SET ?x AS 1
