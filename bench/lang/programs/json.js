// JSON: a list of 10 000 orders written, read again and summed up, three times.
(function () {
  let orders = [];
  for (let i = 1; i <= 10000; i++) {
    orders.push({
      id: i,
      name: "Customer " + i,
      price: i / 4,
      paid: i % 3 === 0,
      note: null,
      tags: ["new", "tag" + (i % 10)],
      address: {street: "Main Street " + i, city: 'Berlin "Mitte"', zip: i + 10000},
    });
  }
  let total = 0;
  for (let round = 0; round < 3; round++) {
    const text = JSON.stringify(orders);
    orders = JSON.parse(text);
    for (const order of orders) {
      total = total + order.price + order.address.zip + order.tags.length;
    }
    total = total + text.length;
  }
  return Math.floor(total);
})();
