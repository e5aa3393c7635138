-- Lists: the primes up to two million, by Eratosthenes' sieve.
SET ?limit AS 2_000_000
SET ?prime AS []
FOR ?i FROM 0 TO ?limit DO
  APPEND TRUE TO ?prime
END
SET ?p AS 2
WHILE ?p * ?p <= ?limit DO
  IF ?prime[?p] THEN
    SET ?multiple AS ?p * ?p
    WHILE ?multiple <= ?limit DO
      SET ?prime[?multiple] AS FALSE
      SET ?multiple AS ?multiple + ?p
    END
  END
  SET ?p AS ?p + 1
END
SET ?count AS 0
FOR ?i FROM 2 TO ?limit DO
  IF ?prime[?i] THEN
    SET ?count AS ?count + 1
  END
END

EMIT ?count
