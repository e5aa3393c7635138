UPDATE t SET a = 1 SET FILE ?path
