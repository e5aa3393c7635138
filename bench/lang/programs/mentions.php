<?php
// Patterns with alternatives: addresses, dates and bad news in 8 000 messages.
return function () {
  $messages = [];
  for ($i = 0; $i < 8000; $i++) {
    $news = $i % 3 == 0 ? "Fatal error" : "all is well";
    $messages[] = "On 2026-" . (10 + $i % 3) . "-" . (10 + $i % 19) . " Jo" . ($i % 50) . " wrote to jo.doe" . $i . "@mail" . ($i % 9) . ".example.org: see https://shop" . ($i % 7) . ".example/item/" . $i . "?q=red, due " . (1 + $i % 28) . "." . (1 + $i % 12) . ".2027. " . $news . " in part " . $i . ", the rest went through.";
  }
  $hosts = [];
  $dates = 0;
  $bad = 0;
  $hidden = 0;
  foreach ($messages as $message) {
    preg_match_all('~(?:https?|ftp)://([^/\s]+)(/\S*)?~', $message, $all, PREG_SET_ORDER);
    foreach ($all as $m) {
      $hosts[$m[1]] = ($hosts[$m[1]] ?? 0) + 1;
    }
    preg_match_all('~(\d{4})-(\d\d)-(\d\d)|(\d{1,2})\.(\d{1,2})\.(\d{4})~', $message, $all, PREG_SET_ORDER);
    foreach ($all as $m) {
      $dates = $dates + (int)($m[1] !== "" ? $m[1] : $m[6]);
    }
    if (preg_match('~\b(?:fatal|error|panic(?:ked)?)\b~i', $message)) {
      $bad = $bad + 1;
    }
    $hidden = $hidden + strlen(preg_replace('~\b([\w.+-]+)@([\w-]+\.)+(org|com)\b~', '<$1>', $message));
  }
  return $hosts["shop3.example"] . "-" . $dates . "-" . $bad . "-" . $hidden;
};
