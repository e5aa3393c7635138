FETCH "https://a.example" WITH {a: 1} SET ?r
