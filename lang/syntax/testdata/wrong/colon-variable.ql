SET :x AS 1
