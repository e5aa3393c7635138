-- First of all.
INPUT FIELDS "a b" TEXT REQUIRED, c CHOICE ["x"] DEFAULT "x"
EMIT !INPUT('c')
