INCLUDE "/lib/tax.ql" AS tax -- rates
DEFINE vat AS 0.19
DEFINE rates AS {
  de: vat,
  fr: 0.2
}
EMIT MAP(?l, UPPER), MAP([1], tax.rate), tax.rate(1, 2), vat + 1, tax.vat, rates.de
DEFINE twice(?x, ?y DEFAULT vat)
  RETURN ?x * 2
END
EMIT MAP([1], Twice)
