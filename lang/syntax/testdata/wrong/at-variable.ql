SET @x AS 2
