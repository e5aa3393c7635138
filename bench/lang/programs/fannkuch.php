<?php
// Short lists: how often the first elements of all permutations of 9 must be
// turned over until a 0 leads.
return function () {
  $n = 9;
  $p = range(0, $n - 1);
  $q = range(0, $n - 1);
  $s = range(0, $n - 1);
  $sign = 1;
  $most = 0;
  $sum = 0;
  $more = true;
  while ($more) {
    $first = $p[0];
    if ($first !== 0) {
      for ($i = 1; $i < $n; $i++) {
        $q[$i] = $p[$i];
      }
      $flips = 1;
      $next = $q[$first];
      while ($next !== 0) {
        $q[$first] = $first;
        if ($first >= 3) {
          $i = 1;
          $j = $first - 1;
          while ($i < $j) {
            $held = $q[$i];
            $q[$i] = $q[$j];
            $q[$j] = $held;
            $i = $i + 1;
            $j = $j - 1;
          }
        }
        $first = $next;
        $next = $q[$first];
        $flips = $flips + 1;
      }
      $sum = $sum + $sign * $flips;
      if ($flips > $most) {
        $most = $flips;
      }
    }
    if ($sign === 1) {
      $held = $p[0];
      $p[0] = $p[1];
      $p[1] = $held;
      $sign = -1;
    } else {
      $held = $p[1];
      $p[1] = $p[2];
      $p[2] = $held;
      $sign = 1;
      $i = 2;
      $turning = true;
      while ($turning) {
        $left = $s[$i];
        if ($left !== 0) {
          $s[$i] = $left - 1;
          $turning = false;
        } else {
          if ($i === $n - 1) {
            $more = false;
            $turning = false;
          } else {
            $s[$i] = $i;
            $held = $p[0];
            for ($j = 0; $j <= $i; $j++) {
              $p[$j] = $p[$j + 1];
            }
            $i = $i + 1;
            $p[$i] = $held;
          }
        }
      }
    }
  }
  return $sum . "/" . $most;
};
