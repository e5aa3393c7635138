run "convert {?in} {!get('out')}" on "studio" run ["ls","-l"] on ?m input "x" timeout 1 minutes set ?out
run "convert cat.png -resize {!GET('width')} small.jpg" on "studio" input read_all("/a") timeout 90 seconds set ?out
set ?in as "a" set ?m as "b"
