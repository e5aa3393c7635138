GATHER "name", "email" SET ?f
GATHER "name" WITHIN 1 WEEK SET ?f
GATHER "first name", "family name", "street and number", "postal code", "town or city", "country"
  WITHIN 2 WEEKS
  SET ?form
