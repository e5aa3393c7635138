IMPORT FILE "/a.csv" INTO people INTO people
