GATHER "Join" FIELDS name, age INTEGER SET ?f
