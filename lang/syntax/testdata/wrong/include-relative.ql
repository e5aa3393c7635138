INCLUDE "lib/tax.ql"
