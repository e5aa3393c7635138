-- A page made of a template and data. Whatever the data holds, it stays text.
--
--   ql run examples/page.ql --data examples --get q=pen
SET ?products AS [
  {name: "Pen & ink", price: 9.5, tags: ["new"]},
  {name: "Paper <A4>", price: 4, tags: []},
  {name: "Fountain pen", price: 120, tags: ["new", "fine"]}
]
SET ?q AS LOWER(!GET('q') DEFAULT "")
SET ?found AS FILTER(?products, ?p -> CONTAINS(LOWER(?p.name), ?q))
SET ?shown AS MAP(?found, ?p -> ?p + {price: FORMAT_NUMBER(?p.price, 2)})
SET "header:Content-Type" AS "text/html; charset=utf-8" OF !RESPONSE
RENDER "/templates/products.html" USING {q: !GET('q'), products: ?shown}
