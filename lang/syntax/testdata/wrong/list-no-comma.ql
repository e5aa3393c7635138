SET ?l AS [1 2]
