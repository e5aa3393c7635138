INCLUDE "/lib/tax.ql"
INCLUDE "/lib/format.ql"
EMIT LINE money(with_tax(100))
