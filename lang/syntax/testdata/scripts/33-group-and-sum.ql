SELECT city, total FROM orders SET ?orders
SET ?by AS GROUP_BY(?orders, ?o -> ?o.city)
FOR ?city, ?list IN ?by DO
  EMIT LINE "{?city}: {=SUM(MAP(?list, ?o -> ?o.total))}"
END
