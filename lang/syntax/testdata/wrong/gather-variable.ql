GATHER ?fields SET ?f
