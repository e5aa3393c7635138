IMPORT ?rows INTO "{?a}"
