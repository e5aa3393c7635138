FETCH "https://a.example" LIMIT 5 SET ?r
