<?php
// Texts and maps: 200 000 words of a text counted, and sorted by how often they
// stand in it.
return function () {
  $seed = 42;
  $parts = [];
  for ($i = 0; $i < 200000; $i++) {
    $seed = ($seed * 3877 + 29573) % 139968;
    $parts[] = "w" . ($seed % 4999);
  }
  $text = implode(" ", $parts);

  $counts = [];
  foreach (explode(" ", $text) as $word) {
    $counts[$word] = ($counts[$word] ?? 0) + 1;
  }
  $sorted = [];
  foreach ($counts as $key => $value) {
    $sorted[] = ['key' => $key, 'value' => $value];
  }
  usort($sorted, fn($a, $b) => [-$a['value'], $a['key']] <=> [-$b['value'], $b['key']]);
  $sum = 0;
  foreach ($sorted as $place => $e) {
    $sum = ($sum + $e['value'] * ($place + 1) + strlen($e['key'])) % 1000003;
  }
  return $sum . "-" . $sorted[0]['key'];
};
