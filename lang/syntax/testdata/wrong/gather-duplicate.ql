GATHER "Join" FIELDS name TEXT, name EMAIL SET ?f
