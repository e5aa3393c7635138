COPY "/photos/cat.png" TO "cat.png" ON "studio"
RUN "convert cat.png -resize {!GET('width')} small.jpg" ON "studio" TIMEOUT 1 MINUTE SET ?out
IF ?out.code != 0 THEN FAIL ?out.stderr CODE "convert_failed" END
COPY "small.jpg" ON "studio" TO "/photos/cat-small.jpg"
SHARE "/photos/cat-small.jpg" SET ?url
EMIT ?url
