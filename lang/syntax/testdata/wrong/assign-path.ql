?order.items[0].name = "a"
