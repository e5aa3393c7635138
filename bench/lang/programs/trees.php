<?php
// Small lists: binary trees built and counted, one of them kept all the while.
function tree($depth) {
  if ($depth === 0) {
    return [null, null];
  }
  return [tree($depth - 1), tree($depth - 1)];
}

function nodes($t) {
  if ($t[0] === null) {
    return 1;
  }
  return 1 + nodes($t[0]) + nodes($t[1]);
}

return function () {
  $kept = tree(12);
  $count = 0;
  for ($depth = 4; $depth <= 12; $depth += 2) {
    $rounds = 2 ** (14 - $depth);
    for ($round = 0; $round < $rounds; $round++) {
      $count = $count + nodes(tree($depth));
    }
  }
  return $count + nodes($kept);
};
