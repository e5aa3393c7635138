GATHER "Rate {?p.name}" SET ?f
