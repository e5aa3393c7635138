IMPORT ?rows INTO people AS ?r
