IMPORT ?rows INTO ?table
