include "/lib/tax.ql"   as tax -- rates
define vat as 0.19
define   rates as {de:vat,
fr:0.2}
emit map(?l,upper), map([1],tax . rate),tax.rate ( 1,2 ), vat+1, tax.vat, rates.de
define twice(?x, ?y default vat) return ?x*2 end
emit map([1], Twice)
