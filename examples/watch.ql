-- Asks many addresses side by side whether they answer, 20 at a time, and lists those that do not. A
-- plan says how many a run may ask: 200 want a plan whose "fetches" are that many.
--
--   mkdir -p ql-data
--   printf 'https://example.com/\nhttps://example.org/\n' > ql-data/addresses.txt
--   ql run examples/watch.ql --data ql-data
READ "/addresses.txt" AS LINES SET ?lines
SET ?addresses AS FILTER(?lines, ?l -> TRIM(?l) != "")
FETCH ALL ?addresses AT MOST 20 TIMEOUT 10 SECONDS SET ?replies
SET ?silent AS []
FOR ?i FROM 0 TO COUNT(?addresses) - 1 DO
  -- One that failed is a value in its place, and loses none of the others.
  IF ?replies[?i].error IS NOT NULL THEN
    APPEND {address: ?addresses[?i], why: ?replies[?i].error.code} TO ?silent
  ELSE IF ?replies[?i].status >= 400 THEN
    APPEND {address: ?addresses[?i], why: "status {?replies[?i].status}"} TO ?silent
  END
END
EMIT LINE "{=COUNT(?addresses) - COUNT(?silent)} answer, {=COUNT(?silent)} do not"
FOR ?s IN ?silent DO
  EMIT LINE "{?s.address}: {?s.why}"
END
