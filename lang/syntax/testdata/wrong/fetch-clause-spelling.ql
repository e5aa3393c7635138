FETCH "https://a.example" METOD "POST" SET ?r
