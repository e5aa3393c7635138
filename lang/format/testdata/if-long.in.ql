set ?customer as {}
if ?customer.country = "Germany" and ?customer.age >= 18 and ?customer.newsletter and not ?customer.blocked then emit 1 end
while ?customer.country in ["Germany", "France"] or (?customer.age >= 18 and ?customer.newsletter) or ?customer.vip do break end
if ?customer.country in [
"Germany", "France"] then emit 1 end
