-- JSON: a list of 10 000 orders written, read again and summed up, three times.
SET ?orders AS []
FOR ?i FROM 1 TO 10_000 DO
  APPEND {
    id: ?i,
    name: "Customer {?i}",
    price: ?i / 4,
    paid: ?i % 3 = 0,
    note: null,
    tags: ["new", "tag{=?i % 10}"],
    address: {street: "Main Street {?i}", city: "Berlin \"Mitte\"", zip: ?i + 10000}
  } TO ?orders
END
SET ?total AS 0
FOR ?round FROM 1 TO 3 DO
  SET ?text AS TO_JSON(?orders)
  SET ?orders AS FROM_JSON(?text)
  FOR ?order IN ?orders DO
    SET ?total AS ?total + ?order.price + ?order.address.zip + COUNT(?order.tags)
  END
  SET ?total AS ?total + LENGTH(?text)
END

EMIT FLOOR(?total)
