GATHER "Join" FIELDS name TEXT, TO "team" SET ?f
