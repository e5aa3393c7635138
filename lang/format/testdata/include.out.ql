INCLUDE "/lib/tax.ql"
INCLUDE '/lib/format.ql'
EMIT money(1)
