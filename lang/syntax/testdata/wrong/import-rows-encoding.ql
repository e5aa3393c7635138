IMPORT ?rows INTO people ENCODING "latin1"
