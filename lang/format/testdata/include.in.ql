include "/lib/tax.ql" include '/lib/format.ql'
emit money(1)
