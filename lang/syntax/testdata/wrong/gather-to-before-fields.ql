GATHER "Join" TO "team" FIELDS name TEXT SET ?f
