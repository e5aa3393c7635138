<?php
// HTML: a table of 100 000 rows, with what is inserted escaped.
return function () {
  $names = ["Ada Lovelace", "R&D <Berlin>", "plain", "a < b", "Tom & Jerry > Sam"];
  $html = "<table>";
  for ($i = 0; $i < 100000; $i++) {
    $html .= "<tr><td>" . htmlspecialchars($i) . "</td><td>" . htmlspecialchars($names[$i % 5]) . "</td><td class=n>" . htmlspecialchars($i * 3) . "</td></tr>\n";
  }
  $html .= "</table>";
  return strlen($html);
};
