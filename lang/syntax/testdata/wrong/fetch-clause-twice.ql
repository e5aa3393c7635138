FETCH "https://a.example" METHOD "GET" METHOD "POST" SET ?r
