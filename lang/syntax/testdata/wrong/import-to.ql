IMPORT ?rows TO people
