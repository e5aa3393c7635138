PRINT "hello"
