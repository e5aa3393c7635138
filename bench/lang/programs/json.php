<?php
// JSON: a list of 10 000 orders written, read again and summed up, three times.
return function () {
  $orders = [];
  for ($i = 1; $i <= 10000; $i++) {
    $orders[] = [
      'id' => $i,
      'name' => "Customer $i",
      'price' => $i / 4,
      'paid' => $i % 3 === 0,
      'note' => null,
      'tags' => ["new", "tag" . $i % 10],
      'address' => ['street' => "Main Street $i", 'city' => 'Berlin "Mitte"', 'zip' => $i + 10000],
    ];
  }
  $total = 0;
  for ($round = 0; $round < 3; $round++) {
    $text = json_encode($orders);
    $orders = json_decode($text, true);
    foreach ($orders as $order) {
      $total = $total + $order['price'] + $order['address']['zip'] + count($order['tags']);
    }
    $total = $total + strlen($text);
  }
  return (int)floor($total);
};
