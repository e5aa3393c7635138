<?php
// Small functions with floating results: ten rounds of the power method for the
// spectral norm of a matrix of 100 × 100.
function element($i, $j) {
  return 1 / (($i + $j) * ($i + $j + 1) / 2 + $i + 1);
}

function times($v, $n) {
  $result = [];
  for ($i = 0; $i < $n; $i++) {
    $sum = 0.0;
    for ($j = 0; $j < $n; $j++) {
      $sum = $sum + element($i, $j) * $v[$j];
    }
    $result[] = $sum;
  }
  return $result;
}

function times_turned($v, $n) {
  $result = [];
  for ($i = 0; $i < $n; $i++) {
    $sum = 0.0;
    for ($j = 0; $j < $n; $j++) {
      $sum = $sum + element($j, $i) * $v[$j];
    }
    $result[] = $sum;
  }
  return $result;
}

return function () {
  $n = 100;
  $u = [];
  for ($i = 0; $i < $n; $i++) {
    $u[] = 1;
  }
  for ($round = 0; $round < 10; $round++) {
    $v = times_turned(times($u, $n), $n);
    $u = times_turned(times($v, $n), $n);
  }
  $uv = 0;
  $vv = 0;
  for ($i = 0; $i < $n; $i++) {
    $uv = $uv + $u[$i] * $v[$i];
    $vv = $vv + $v[$i] * $v[$i];
  }
  return (int)floor(sqrt($uv / $vv) * 1000000);
};
