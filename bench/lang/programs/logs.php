<?php
// Patterns: 40 000 lines of a log taken apart, searched, and their numbers hidden.
return function () {
  $lines = [];
  for ($i = 0; $i < 40000; $i++) {
    $lines[] = "2026-11-18T02:" . ($i % 60) . ":10 host" . ($i % 17) . " GET /shop/item/" . $i . "?page=" . ($i % 9) . "&q=red " . (200 + $i % 5 * 100) . " " . ($i * 7);
  }
  $bytes = 0;
  $found = 0;
  $hidden = 0;
  $statuses = [];
  foreach ($lines as $line) {
    preg_match('#^(\S+) (\S+) ([A-Z]+) (/\S*) ([0-9]+) ([0-9]+)$#', $line, $m);
    $statuses[$m[5]] = ($statuses[$m[5]] ?? 0) + 1;
    $bytes = $bytes + (int)$m[6];
    if (preg_match('#item/[0-9]*7\?page=[0-4]&#', $line)) {
      $found = $found + 1;
    }
    $hidden = $hidden + strlen(preg_replace('#[0-9]+#', '#', $line));
  }
  return $bytes . "-" . $found . "-" . $hidden . "-" . $statuses["400"];
};
