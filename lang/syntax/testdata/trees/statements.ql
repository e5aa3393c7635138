INCLUDE "/lib/a.ql"
DEFINE f(?a, ?b DEFAULT -1)
  IF ?a THEN RETURN ?b ELSE IF ?b THEN STOP ELSE RETURN END
END
EMIT "a"
EMIT ?a, ?b.c[0], -1
EMIT LINE
EMIT LINE ?x
EMIT LINE "a", 1 + 2
EMIT JSON {a: ?x, b: [1, 2]}
EMIT HTML "<b>{?x}</b>"
EMIT CASE WHEN ?x THEN 1 ELSE 2 END
EMIT [1, 2, 3]
EMIT {a: 1, "b c": [TRUE, NULL]}
EMIT (1 + 2) * 3
EMIT NOT ?x
EMIT !GET('name') DEFAULT "nobody"
EMIT ?x IS NOT NULL
EMIT MAP(?l, ?x -> ?x * 2)
EMIT REDUCE(?l, (?a, ?b) -> ?a + ?b, 0)
EMIT REPLACE(?t, "a", "b")
SET ?x AS 1
SET ?x.a[0].b AS ?y
SET ?x[?k] AS ?x[?k] DEFAULT 0 + 1
SET "key" AS 1 OF ?m
SET "a{?b}" AS 1 OF ?m.n[0]
SET "status" AS 404 OF !RESPONSE
SET 'user' AS {id: 1} OF !SESSION
UNSET ?x
UNSET ?x.a["b"]
UNSET "key" OF ?m
UNSET "user" OF !SESSION
APPEND 1 TO ?l
APPEND {a: 1} TO ?m.list
APPEND "a" TO FILE "/log.txt"
APPEND LINE TO_JSON(?x) TO FILE "/log.txt"
IF ?a THEN EMIT 1 END
IF ?a THEN END
IF ?a = 1 THEN EMIT 1 ELSE EMIT 2 END
IF ?a THEN EMIT 1 ELSE IF ?b THEN EMIT 2 ELSE EMIT 3 END
IF ?a THEN EMIT 1 ELSE
IF ?b THEN EMIT 2 END END
FOR ?x IN ?l DO EMIT ?x END
FOR ?k, ?v IN ?m DO EMIT ?k, ?v END
FOR ?i FROM 1 TO 10 DO EMIT ?i END
FOR ?i FROM 10 TO 1 STEP -1 DO CONTINUE END
WHILE ?x < 3 DO SET ?x AS ?x + 1 END
WHILE TRUE DO BREAK END
STOP
CALL note(1)
CALL note()
TRY EMIT 1 CATCH ?e EMIT ?e.message END
TRY EMIT 1 CATCH END
FAIL "no"
FAIL "no" CODE "bad"
FAIL ?e
IMPORT ?rows INTO people
IMPORT [{a: 1}] + ?more INTO "my people" SET ?r
SELECT * FROM t SET FILE "/a.csv"
SELECT * FROM t WHERE file = ?f SET FILE ?path + "/a.json"
START SESSION
END SESSION
CONFIRM "Go on?"
CONFIRM "Go on?" SET ?ok
CONFIRM "Go on?" WITHIN 2 DAYS SET ?ok
GATHER "name", "email" SET ?f
GATHER "name" WITHIN 1 HOUR SET ?f
GATHER "Join" FIELDS name TEXT REQUIRED, set EMAIL SET ?f
GATHER "Join {?x}" FIELDS "a b" LONG TEXT LABEL "l" HELP "h", n INTEGER MIN 1 MAX 10 DEFAULT 1, c CHOICE ["a", "b"], d CHOICES {a: "A"} WITHIN ?n MINUTES SET ?f
WAIT 10 SECONDS
WAIT POWER(2, ?n) + 1 MINUTES
WAIT UNTIL ?t
READ "/a.json" SET ?x
READ "/a.json" OPTIONAL AS JSON SET ?x
WRITE ?x TO "/a.json"
WRITE ?x AS CSV TO "/a"
LIST "/a" SET ?files
COPY "/a" TO "/b"
COPY "/a" ON "m" TO "/b" ON "n"
MOVE "/a" TO "/b"
REMOVE "/a"
SHARE "/a" SET ?url
SHARE "/a" TIMES 5 FOR 7 DAYS NAMED "b" SET ?url
SHARE "/a" NAMED "b" UNLIMITED SET ?url
UNSHARE ?url
USE DATABASE "shop"
TRANSACTION UPDATE t SET a = 1; END
RENDER "/a.html"
RENDER "/a.html" USING {a: 1}
FETCH "https://a.example"
FETCH ?url SET ?r
FETCH ?url TIMEOUT 5 SECONDS METHOD "POST" HEADERS {a: 1} QUERY {b: 2} BODY ?x SET ?r
RUN "ls {?dir}" ON "m"
RUN ["ls", ?dir] TIMEOUT 1 MINUTE ON "m" INPUT ?x SET ?out
SELECT * FROM t;
SELECT a, b FROM t WHERE c = ?x AND d IN (?ids) SET ?rows
SELECT COUNT(*) FROM t WHERE a = !GET('a') SET VALUE ?n
WITH x AS (SELECT 1) SELECT * FROM x SET ROW ?r
INSERT INTO t (a, b) VALUES (?a, ?b.c);
UPDATE t SET a = ?x, value = 2 WHERE id = ?id;
DELETE FROM t WHERE a = 'x;y' SET ?r
REPLACE INTO t VALUES (1);
CREATE TABLE t (a TEXT DEFAULT ';');
CREATE TRIGGER x AFTER INSERT ON t BEGIN UPDATE t SET a = CASE WHEN 1 THEN 2 END; END;
ALTER TABLE t ADD COLUMN b TEXT;
DROP TABLE t;
EXPLAIN SELECT 1 SET ?plan
CHECK ?m FIELDS name TEXT REQUIRED, n INTEGER MIN 1 SET ?clean
CHECK (?m) FIELDS set DATE
FOR ?row IN FILE "/a.csv" DO EMIT ?row END
FOR ?row IN FILE ?path AS JSON LINES ENCODING "latin1" AT ?line BAD ?bad DO END
MAIL TO "ada@example.com" SUBJECT "Hello" TEXT "You there"
MAIL TO ?all SUBJECT ?s ATTACH ["/a.pdf", {path: "/b.pdf", name: "B"}] HTML "<b>{?x}</b>" FROM ?me SET ?id
MAIL TO ?all HTML ?page SUBJECT ?s
CONFIRM "Pay?" TO ?who BY MAIL WITHIN 1 DAY SET ?ok
GATHER "name" BY MAIL TO ?who SET ?form
SET ?x AS mail(?mail)
FETCH ALL ?urls AT MOST 5 TIMEOUT 3 SECONDS SET ?replies
RUN SCRIPT "report" USING {a: 1} WITHIN 5 MINUTES SET ?r
START SCRIPT "report" SET ?job
WAIT FOR ?job WITHIN 1 HOUR SET ?r
WAIT FOR SIGNAL "paid" SET ?d
SIGNAL "paid" TO ?job USING ?d
