signal := 2
