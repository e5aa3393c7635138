FETCH "https://a.example" SET ?r TIMEOUT 5 SECONDS
