RUN "convert {?in} {!GET('out')}" ON "studio"
RUN ["ls", "-l"] ON ?m INPUT "x" TIMEOUT 1 MINUTE SET ?out
RUN "convert cat.png -resize {!GET('width')} small.jpg"
  ON "studio"
  INPUT read_all("/a")
  TIMEOUT 90 SECONDS
  SET ?out
SET ?in AS "a"
SET ?m AS "b"
