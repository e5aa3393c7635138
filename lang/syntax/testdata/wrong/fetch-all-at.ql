FETCH ALL ?urls AT 5 SET ?r
