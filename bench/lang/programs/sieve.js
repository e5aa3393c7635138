// Lists: the primes up to two million, by Eratosthenes' sieve.
(function () {
  const limit = 2000000;
  const prime = [];
  for (let i = 0; i <= limit; i++) {
    prime.push(true);
  }
  let p = 2;
  while (p * p <= limit) {
    if (prime[p]) {
      let multiple = p * p;
      while (multiple <= limit) {
        prime[multiple] = false;
        multiple = multiple + p;
      }
    }
    p = p + 1;
  }
  let count = 0;
  for (let i = 2; i <= limit; i++) {
    if (prime[i]) {
      count = count + 1;
    }
  }
  return count;
})();
