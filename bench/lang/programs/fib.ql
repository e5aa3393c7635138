-- Calls: the 30th Fibonacci number, the naive way.
DEFINE fib(?n)
  IF ?n < 2 THEN
    RETURN ?n
  END
  RETURN fib(?n - 1) + fib(?n - 2)
END

EMIT fib(30)
