gather "name","email" set ?f gather "name" within 1 week set ?f
gather "first name", "family name", "street and number", "postal code", "town or city", "country" within 2 weeks set ?form
