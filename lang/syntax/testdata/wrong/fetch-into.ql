FETCH "https://a.example" INTO ?x
