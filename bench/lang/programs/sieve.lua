-- Lists: the primes up to two million, by Eratosthenes' sieve. The number n is
-- kept at n + 1, because lists start at 1 here.
local limit = 2000000
local prime = {}
for i = 0, limit do
  prime[i + 1] = true
end
local p = 2
while p * p <= limit do
  if prime[p + 1] then
    local multiple = p * p
    while multiple <= limit do
      prime[multiple + 1] = false
      multiple = multiple + p
    end
  end
  p = p + 1
end
local count = 0
for i = 2, limit do
  if prime[i + 1] then
    count = count + 1
  end
end

return count
