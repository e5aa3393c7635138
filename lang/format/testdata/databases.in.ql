use database "shop" transaction use database ?x insert into t values (1); end
render "/page.html" render "/page.html" using {title:"x"} 
render "/page.html" using {
title:"x"}
set ?x as 1
