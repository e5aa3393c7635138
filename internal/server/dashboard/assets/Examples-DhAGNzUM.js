import{A as e,B as t,G as n,L as r,N as i,Q as a,R as o,Y as s,Z as c,at as l,d as u,j as d,lt as f,ot as p,w as m}from"./disclose-version-YjaLN90e.js";import{h}from"./main-CBUudIos.js";var g=`-- Pays an invoice. A large one must be approved by a person first, who has two days
-- for it. Wants the tables of shop.ql.
--
--   ql run examples/approval.ql --data ql-data --get id=2
--
-- On a service whoever knows the id of the job may answer, also the program that started
-- it. Where that must not be, the account asks for credentials:
--
--   ql account set ada require_auth_on_jobs=true
SELECT id, supplier, amount, state FROM invoices WHERE id = !GET('id') SET ROW ?invoice
IF ?invoice IS NULL THEN
  SET "status" AS 404 OF !RESPONSE
  EMIT LINE "There is no such invoice."
  STOP
END
IF ?invoice.state = "paid" THEN
  EMIT LINE "Invoice {?invoice.id} is paid already."
  STOP
END

IF ?invoice.amount > 1000 THEN
  CONFIRM "Pay {?invoice.amount} to {?invoice.supplier}?" WITHIN 2 DAYS SET ?approved
  IF NOT ?approved THEN
    FAIL "The payment was refused." CODE "refused"
  END
END

-- Days may have passed since the invoice was read: somebody else may have paid it.
UPDATE invoices SET state = 'paid' WHERE id = ?invoice.id AND state = 'open' SET ?done
EMIT LINE CASE WHEN ?done.changes = 1 THEN "Paid." ELSE "Somebody else paid it meanwhile." END
`,_=`-- Removes files that nobody has changed for 30 days, or as many as given. Meant to
-- be run every night.
--
--   mkdir -p ql-data/uploads
--   ql run examples/cleanup.ql --data ql-data --get days=90
SET ?days AS NUMBER(!GET('days')) DEFAULT 30
SET ?before AS ADD_TIME(NOW(), -?days, "days")
SET ?removed AS 0
SET ?bytes AS 0
LIST "/uploads" SET ?files
FOR ?f IN ?files DO
  -- Times are texts that sort as the moments do.
  IF ?f.folder OR ?f.modified >= ?before THEN
    CONTINUE
  END
  REMOVE ?f.path
  SET ?removed AS ?removed + 1
  SET ?bytes AS ?bytes + ?f.size
  APPEND LINE "{=NOW()} removed {?f.path}, changed {?f.modified}" TO FILE "/logs/cleanup.log"
END
EMIT LINE "Files removed: {?removed}, bytes: {?bytes}"
`,v=`-- Sends three mails to one address, three days apart. The script runs for six
-- days and needs no memory meanwhile.
--
--   ql run examples/drip.ql --get to=ada@example.com
IF NOT MATCHES(!GET('to') DEFAULT "", '^[^@\\s]+@[^@\\s]+$') THEN
  FAIL "to is no e-mail address" CODE "bad_request"
END
SET ?mails AS ["Welcome!", "Did you know …", "Last chance"]
FOR ?i, ?text IN ?mails DO
  FETCH "https://mail.example.com/send" METHOD "POST" BODY {to: !GET('to'), text: ?text} SET ?reply
  IF ?reply.status != 200 THEN
    FAIL "the mail service answered {?reply.status}" CODE "mail_failed"
  END
  EMIT LINE "{=NOW()} sent: {?text}"
  IF ?i < COUNT(?mails) - 1 THEN
    WAIT 3 DAYS
  END
END
`,y=`-- Says hello, with a name from the request.
--
--   ql run examples/hello.ql --get name=Ada
EMIT LINE "Hello, {!GET('name') DEFAULT "stranger"}!"
`,b=`-- Writes an invoice with the next number of its year. The number is taken and the
-- invoice written in one transaction: no number is used twice, and none is lost
-- when something is wrong with the invoice.
--
--   mkdir -p ql-data
--   ql run examples/invoice.ql --data ql-data --get customer=Ada --get total=12.50
CREATE TABLE IF NOT EXISTS numbers (year INTEGER PRIMARY KEY, last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS bills (
  number TEXT PRIMARY KEY,
  customer TEXT NOT NULL,
  total REAL NOT NULL CHECK (total > 0)
);
SET ?year AS NUMBER(!GET('year')) DEFAULT YEAR(NOW())
SET ?total AS NUMBER(!GET('total'))
TRANSACTION
  INSERT INTO numbers (year, last)
  VALUES (?year, 1)
  ON CONFLICT (year) DO UPDATE SET last = last + 1
  RETURNING last
    SET VALUE ?last
  SET ?number AS "{?year}-{=PAD_LEFT(?last, 4, "0")}"
  INSERT INTO bills (number, customer, total) VALUES (?number, !GET('customer'), ?total);
END
EMIT LINE "Invoice {?number} for {!GET('customer')}: {=FORMAT_NUMBER(?total, 2)}"
`,x=`-- Accounts with a password, and who is logged in kept in the session.
--
--   mkdir -p ql-data
--   ql run examples/login.ql --data ql-data --path /register --post email=ada@example.com --post password=…
--   ql run examples/login.ql --data ql-data --path /login --post email=ada@example.com --post password=…
--   ql run examples/login.ql --data ql-data
--   ql run examples/login.ql --data ql-data --path /logout
START SESSION
CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, hash TEXT NOT NULL);
SET ?email AS LOWER(TRIM(!POST('email')))
SET ?path AS !REQUEST('path')

IF ?path = "/register" THEN
  IF LENGTH(!POST('password')) < 10 THEN
    CALL refuse(400, "A password has at least 10 characters.")
  END
  SET ?hash AS PASSWORD_HASH(!POST('password'))
  TRY
    INSERT INTO users (email, hash) VALUES (?email, ?hash);
  CATCH ?e
    IF ?e.code != "unique" THEN
      FAIL ?e
    END
    CALL refuse(409, "This address has an account already.")
  END
  EMIT LINE "Registered."
ELSE IF ?path = "/login" THEN
  SELECT id, email, hash FROM users WHERE email = ?email SET ROW ?user
  -- One message for both: it must not tell which addresses have an account.
  IF ?user IS NULL OR NOT PASSWORD_MATCHES(!POST('password'), ?user.hash) THEN
    CALL refuse(401, "Wrong e-mail address or password.")
  END
  SET "user" AS PICK(?user, ["id", "email"]) OF !SESSION
  EMIT LINE "Hello, {?user.email}!"
ELSE IF ?path = "/logout" THEN
  END SESSION
  EMIT LINE "Bye."
ELSE
  EMIT LINE CASE
    WHEN !SESSION('user') THEN "You are {!SESSION('user').email}."
    ELSE "Nobody is logged in."
  END
END

-- Answers with a status and ends the script.
DEFINE refuse(?status, ?why)
  SET "status" AS ?status OF !RESPONSE
  EMIT LINE ?why
  STOP
END
`,S=`-- Takes the orders of the day from a CSV file, and mails a report of them. A schedule starts it each
-- night; without a new file it says so, and imports nothing twice.
--
--   ql script publish ada nightly examples/nightly.ql
--   ql schedule set ada nightly nightly --cron "30 2 * * *" --zone Europe/Berlin --input '{"to": "ada@example.com"}'
--   ql run examples/nightly.ql --input to=ada@example.com   (and see what it cannot do alone)
INPUT FIELDS to EMAIL REQUIRED
CREATE TABLE IF NOT EXISTS nightly_orders (id TEXT PRIMARY KEY, item TEXT NOT NULL, total REAL NOT NULL);
READ "/import/orders.csv" AS TEXT OPTIONAL SET ?file
IF ?file IS NULL THEN
  MAIL TO !INPUT.to SUBJECT "No orders" TEXT "There was no file of orders this night."
  EMIT JSON {imported: 0}
  STOP
END
SET ?bad AS []
SET ?before AS 0
SELECT COUNT(*) FROM nightly_orders SET VALUE ?before
FOR ?row IN FILE "/import/orders.csv" AT ?line BAD ?broken DO
  TRY
    SET ?total AS NUMBER(?row.total)
    INSERT OR IGNORE INTO nightly_orders (id, item, total) VALUES (?row.id, ?row.item, ?total);
  CATCH ?e
    APPEND "line {?line}: {?e.message}" TO ?bad
  END
END
FOR ?b IN ?broken DO
  APPEND "line {?b.line}: {?b.message}" TO ?bad
END
SELECT COUNT(*) AS orders, TOTAL(total) AS revenue FROM nightly_orders SET ROW ?all
SET ?new AS ?all.orders - ?before
MAIL TO !INPUT.to
  SUBJECT "{?new} orders, {=COUNT(?bad)} refused"
  TEXT "New: {?new}\\nAll: {?all.orders}, {=FORMAT_NUMBER(?all.revenue, 2)} EUR\\n{=JOIN(?bad, "\\n")}"
-- Last of all: where the script does not get here, the next one finds the file, and rows that are there stay.
MOVE "/import/orders.csv" TO "/import/done/{!JOB('id')}.csv"
EMIT JSON {imported: ?new, refused: COUNT(?bad)}
`,C=`-- A small JSON API of notes: GET /notes, GET /notes/1, POST /notes, DELETE /notes/1.
--
--   mkdir -p ql-data
--   ql run examples/notes.ql --data ql-data --path /notes --body '{"text": "Buy ink"}'
--   ql run examples/notes.ql --data ql-data --path /notes
--   ql run examples/notes.ql --data ql-data --path /notes/1 --method DELETE
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
SET "header:Content-Type" AS "application/json" OF !RESPONSE
SET ?found AS FIND(!REQUEST('path'), '^/notes(?:/(\\d+))?$')
IF ?found IS NULL THEN
  CALL answer(404, {error: "there is nothing at {!REQUEST('path')}"})
END
SET ?id AS NUMBER(?found.groups[0])

IF !REQUEST('method') = "GET" AND ?id IS NULL THEN
  SELECT id, text FROM notes ORDER BY id SET ?notes
  CALL answer(200, {notes: ?notes})
END
IF !REQUEST('method') = "POST" AND ?id IS NULL THEN
  TRY
    SET ?text AS TRIM(FROM_JSON(!REQUEST('body')).text)
  CATCH ?e
    CALL answer(400, {error: ?e.message})
  END
  IF NOT ?text THEN
    CALL answer(400, {error: "a note needs a text"})
  END
  INSERT INTO notes (text) VALUES (?text) RETURNING id, text SET ROW ?note
  CALL answer(201, ?note)
END

SELECT id, text FROM notes WHERE id = ?id SET ROW ?note
IF ?id IS NOT NULL AND ?note IS NULL THEN
  CALL answer(404, {error: "there is no note {?id}"})
END
IF !REQUEST('method') = "GET" THEN
  CALL answer(200, ?note)
END
IF !REQUEST('method') = "DELETE" AND ?id IS NOT NULL THEN
  DELETE FROM notes WHERE id = ?id;
  CALL answer(200, {deleted: ?id})
END
CALL answer(405, {error: "{!REQUEST('method')} does not work here"})

-- Answers and ends the script.
DEFINE answer(?status, ?body)
  SET "status" AS ?status OF !RESPONSE
  EMIT LINE ?body
  STOP
END
`,w=`-- An order that waits for its payment: after a day a reminder goes out, and two days later the order is
-- cancelled. The script "request-payment" tells a payment service the address at which it says that
-- the order is paid; "remind" writes to the customer. Both are yours, published in the same account.
--
--   ql script publish ada order examples/order.ql
--   ql run examples/order.ql --input item=book --input amount=5 --input customer=ada   (and see what it cannot do alone)
INPUT FIELDS
  item         TEXT REQUIRED,
  amount       NUMBER MIN 1 REQUIRED,
  customer     TEXT REQUIRED,
  remind_after NUMBER DEFAULT 24, -- hours
  cancel_after NUMBER DEFAULT 48
SET ?order AS {id: !JOB('id'), item: !INPUT.item, amount: !INPUT.amount, customer: !INPUT.customer}
START SCRIPT "request-payment" USING MERGE(?order, {notify: !JOB('signal_url')}) SET ?request
CREATE TABLE IF NOT EXISTS paid_orders (id TEXT PRIMARY KEY, item TEXT, state TEXT, reference TEXT);
INSERT INTO paid_orders (id, item, state) VALUES (?order.id, ?order.item, 'open');
TRY
  TRY
    WAIT FOR SIGNAL "paid" WITHIN !INPUT.remind_after HOURS SET ?payment
  CATCH ?late
    IF ?late.code != "expired" THEN
      FAIL ?late
    END
    START SCRIPT "remind" USING ?order
    WAIT FOR SIGNAL "paid" WITHIN !INPUT.cancel_after HOURS SET ?payment
  END
  UPDATE paid_orders SET state = 'paid', reference = ?payment.reference WHERE id = ?order.id;
  EMIT JSON {order: ?order.id, state: "paid"}
CATCH ?never
  IF ?never.code != "expired" THEN
    FAIL ?never
  END
  UPDATE paid_orders SET state = 'cancelled' WHERE id = ?order.id;
  EMIT JSON {order: ?order.id, state: "cancelled"}
END
`,T=`-- Lists the products page by page, as JSON. Wants the tables of shop.ql.
--
--   ql run examples/products.ql --data ql-data --get page=2 --get size=2
SET ?size AS CLAMP(NUMBER(!GET('size')) DEFAULT 20, 1, 100)
SET ?page AS MAX(1, NUMBER(!GET('page')) DEFAULT 1)
SET ?skip AS (?page - 1) * ?size
SELECT id, name, price FROM products ORDER BY id LIMIT ?size OFFSET ?skip SET ?products
SELECT COUNT(*) FROM products SET VALUE ?total

SET "header:Content-Type" AS "application/json" OF !RESPONSE
EMIT LINE {page: ?page, pages: CEIL(?total / ?size), total: ?total, products: ?products}
`,E=`-- Sums up the orders by month, writes the sums to a CSV file, and shares the file
-- by a link that works five times within a week. Wants the tables of shop.ql.
--
--   ql run examples/report.ql --data ql-data
SELECT SUBSTR(day, 1, 7) AS month, COUNT(*) AS orders, SUM(total) AS revenue
FROM orders
GROUP BY month
ORDER BY month
  SET ?months
WRITE ?months TO "/reports/revenue.csv"
SHARE "/reports/revenue.csv" TIMES 5 FOR 7 DAYS NAMED "revenue.csv" SET ?url
EMIT LINE "Your report: {?url}"
`,D=`-- Makes the tables that some of the other examples work on, with a few rows in
-- each. It may be run again: what is there stays as it is.
--
--   mkdir -p ql-data
--   ql run examples/shop.ql --data ql-data
CREATE TABLE IF NOT EXISTS products (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  price REAL NOT NULL CHECK (price >= 0)
);
CREATE TABLE IF NOT EXISTS orders (
  id INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  day TEXT NOT NULL,
  total REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS invoices (
  id INTEGER PRIMARY KEY,
  supplier TEXT NOT NULL,
  amount REAL NOT NULL,
  state TEXT NOT NULL DEFAULT 'open'
);

INSERT INTO products (id, name, price)
VALUES (1, 'Pen', 2.5), (2, 'Ink', 7), (3, 'Paper', 4), (4, 'Ruler', 3), (5, 'Eraser', 1.2)
ON CONFLICT DO NOTHING;
INSERT INTO orders (id, customer, day, total)
VALUES (1, 'Ada', '2026-05-03', 12.5), (2, 'Bob', '2026-05-20', 7), (3, 'Ada', '2026-06-01', 30)
ON CONFLICT DO NOTHING;
INSERT INTO invoices (id, supplier, amount)
VALUES (1, 'Paper mill', 420), (2, 'Print house', 1800)
ON CONFLICT DO NOTHING;

SELECT COUNT(*) FROM products SET VALUE ?products
SELECT COUNT(*) FROM orders SET VALUE ?orders
SELECT COUNT(*) FROM invoices SET VALUE ?invoices
EMIT LINE "{?products} products, {?orders} orders, {?invoices} invoices"
`,O=`-- A sign-up form. An address that is taken is asked for again.
--
--   mkdir -p ql-data
--   ql run examples/signup.ql --data ql-data
CREATE TABLE IF NOT EXISTS members (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE,
  plan TEXT NOT NULL,
  age INTEGER
);

SET ?title AS "Join us"
SET ?joined AS FALSE
WHILE NOT ?joined DO
  GATHER ?title FIELDS
    name  TEXT REQUIRED MAX 80 LABEL "Your name",
    email EMAIL REQUIRED LABEL "Your e-mail address",
    age   INTEGER MIN 16 MAX 120 LABEL "Your age",
    plan  CHOICE {free: "Free", pro: "Pro, 5 € a month"} DEFAULT "free",
    terms BOOLEAN REQUIRED LABEL "I accept the terms"
  WITHIN 1 DAY
  SET ?form
  IF NOT ?form.terms THEN
    EMIT LINE "Without the terms there is no account."
    STOP
  END
  TRY
    INSERT INTO members (name, email, age, plan)
    VALUES (?form.name, LOWER(?form.email), ?form.age, ?form.plan);
    SET ?joined AS TRUE
  CATCH ?e
    IF ?e.code != "unique" THEN
      FAIL ?e
    END
    SET ?title AS "{?form.email} has an account already. Another address?"
  END
END
EMIT LINE "Welcome, {?form.name}!"
`,k=`-- Asks a customer how it was. Whoever does not answer within two days is asked
-- once more, if the team wants to; a bad answer goes to the team at once. TO keeps
-- the two apart: a customer who has answered is not led on to the team's question.
--
--   mkdir -p ql-data
--   ql run examples/survey.ql --data ql-data --get name=Ada
SET ?name AS !GET('name') DEFAULT "there"
TRY
  SET ?answer AS ask("How was it, {?name}?")
CATCH ?e
  IF ?e.code != "expired" THEN
    FAIL ?e
  END
  CONFIRM "{?name} did not answer. Ask again?" TO "team" WITHIN 1 DAY
  SET ?answer AS ask("We would still like to know, {?name}: how was it?")
END
WRITE {name: ?name, answer: ?answer, at: NOW()} TO "/survey/{=SLUG(?name)}.json"

IF ?answer.score <= 2 THEN
  CONFIRM "{?name} gave {?answer.score} of 5: \\"{?answer.note}\\". Has somebody called?"
    TO "team"
    WITHIN 1 DAY
    SET ?called
  EMIT LINE CASE WHEN ?called THEN "called" ELSE "not called" END
END
EMIT LINE "Thank you, {?name}."

DEFINE ask(?title)
  GATHER ?title FIELDS
    score INTEGER REQUIRED MIN 1 MAX 5 HELP "1 is bad, 5 is good",
    note  LONG TEXT MAX 1000 LABEL "Anything to add?"
  TO "customer"
  WITHIN 2 DAYS
  SET ?answer
  RETURN ?answer
END
`,A=`-- A todo API in one file, with routes, validation and the right statuses: GET and POST
-- /items, and GET, PATCH and DELETE /items/1. Published, it is an HTTP endpoint:
--
--   ql script publish ada todo examples/todo.ql --callers anyone
--   curl http://127.0.0.1:8080/run/ada/todo/items -H 'Content-Type: application/json' -d '{"text": "Buy ink"}'
--
-- and without a service:
--
--   mkdir -p ql-data
--   ql run examples/todo.ql --data ql-data --path /items --header content-type=application/json --body '{"text": "Buy ink"}'
--   ql run examples/todo.ql --data ql-data --path /items
CREATE TABLE IF NOT EXISTS todos (id INTEGER PRIMARY KEY, text TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0);
SET ?method AS !REQUEST('method')
SET ?route AS FIND(!REQUEST('path'), '^/items(?:/(\\d{1,15}))?$')
IF ?route IS NULL THEN
  CALL answer(404, {error: "there is nothing at {!REQUEST('path')}"})
END
SET ?id AS NUMBER(?route.groups[0])

IF ?id IS NULL THEN
  IF ?method = "GET" THEN
    SELECT * FROM todos ORDER BY id SET ?rows
    CALL answer(200, {items: MAP(?rows, ?row -> shown(?row))})
  END
  CALL need(?method, ["GET", "POST"])
  TRY
    CHECK !BODY FIELDS text TEXT REQUIRED MAX 200 SET ?new
  CATCH ?err
    CALL refuse(?err)
  END
  INSERT INTO todos (text) VALUES (?new.text) RETURNING * SET ROW ?item
  SET "header:Location" AS "{!REQUEST('base')}/items/{?item.id}" OF !RESPONSE
  CALL answer(201, shown(?item))
END

CALL need(?method, ["GET", "PATCH", "DELETE"])
SELECT * FROM todos WHERE id = ?id SET ROW ?item
IF ?item IS NULL THEN
  CALL answer(404, {error: "there is no item {?id}"})
END
IF ?method = "DELETE" THEN
  DELETE FROM todos WHERE id = ?id;
  CALL answer(204, NULL)
END
IF ?method = "PATCH" THEN
  TRY
    CHECK !BODY FIELDS text TEXT MAX 200, done BOOLEAN SET ?change
  CATCH ?err
    CALL refuse(?err)
  END
  SET ?text AS ?change.text DEFAULT ?item.text
  SET ?done AS ?change.done DEFAULT (?item.done = 1)
  UPDATE todos SET text = ?text, done = ?done WHERE id = ?id RETURNING * SET ROW ?item
END
CALL answer(200, shown(?item))

-- An item as callers see it.
DEFINE shown(?item)
  RETURN {id: ?item.id, text: ?item.text, done: ?item.done = 1}
END

-- Refuses a method that an address does not take.
DEFINE need(?method, ?methods)
  IF ?method NOT IN ?methods THEN
    SET "header:Allow" AS JOIN(?methods, ", ") OF !RESPONSE
    CALL answer(405, {error: "{?method} does not work here"})
  END
END

-- Refuses what does not fit, field by field.
DEFINE refuse(?err)
  CALL answer(422, {error: ?err.message, fields: ?err.fields})
END

-- Answers and ends the script.
DEFINE answer(?status, ?body)
  SET "status" AS ?status OF !RESPONSE
  IF ?body IS NOT NULL THEN
    EMIT JSON ?body
  END
  STOP
END
`,j=`-- Asks many addresses side by side whether they answer, 20 at a time, and lists those that do not. A
-- plan says how many a run may ask: 200 want a plan whose "fetches" are that many.
--
--   mkdir -p ql-data
--   printf 'https://example.com/\\nhttps://example.org/\\n' > ql-data/addresses.txt
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
`,M=`-- Takes messages from another service, and only those with its signature: the
-- HMAC of the body under a secret that both know. A message that comes twice
-- counts once.
--
--   mkdir -p ql-data
--   echo '{"hook_secret": "open sesame"}' > ql-data/secrets.json
--   ql run examples/webhook.ql --data ql-data --secrets ql-data/secrets.json \\
--     --header x-signature=… --body '{"id": "m1", "type": "paid"}'
SET ?body AS !REQUEST('body') DEFAULT ""
SET ?expected AS HMAC_SHA256(?body, !SECRET('hook_secret'))
IF NOT SAME(?expected, !REQUEST('header:x-signature') DEFAULT "") THEN
  SET "status" AS 401 OF !RESPONSE
  EMIT LINE "bad signature"
  STOP
END

CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, kind TEXT NOT NULL, data TEXT NOT NULL);
SET ?event AS FROM_JSON(?body)
INSERT INTO events (id, kind, data)
VALUES (?event.id, ?event.type, ?event)
ON CONFLICT (id) DO NOTHING
  SET ?done
EMIT LINE CASE WHEN ?done.changes = 1 THEN "ok" ELSE "known" END
`,N=i(`<li><a class="svelte-847kgo"><strong class="svelte-847kgo"> </strong> <span class="quiet svelte-847kgo"> </span></a></li>`),P=i(`<ul aria-label="Examples"></ul>`);function F(r,i){p(i,!0);let F=Object.assign({"../../../examples/approval.ql":g,"../../../examples/cleanup.ql":_,"../../../examples/drip.ql":v,"../../../examples/hello.ql":y,"../../../examples/invoice.ql":b,"../../../examples/login.ql":x,"../../../examples/nightly.ql":S,"../../../examples/notes.ql":C,"../../../examples/order.ql":w,"../../../examples/products.ql":T,"../../../examples/report.ql":E,"../../../examples/shop.ql":D,"../../../examples/signup.ql":O,"../../../examples/survey.ql":k,"../../../examples/todo.ql":A,"../../../examples/watch.ql":j,"../../../examples/webhook.ql":M}),I=[`hello.ql`,`shop.ql`],L=Object.entries(F).map(([e,t])=>({name:e.slice(e.lastIndexOf(`/`)+1),text:t.trimEnd(),what:R(t)})).sort((e,t)=>(I.indexOf(t.name)+1&&2-I.indexOf(t.name))-(I.indexOf(e.name)+1&&2-I.indexOf(e.name)));function R(e){let t=e.split(`
`),n=t.findIndex(e=>!/^-- \S/.test(e));return t.slice(0,n).map(e=>e.slice(3)).join(` `)}var z=P();m(z,21,()=>L,e=>e.name,(r,l)=>{var p=N(),m=s(p),g=s(m),_=c(g,!0),v=a(g,2),y=c(v,!0);f(m),f(p),n(n=>{u(m,`href`,n),e(_,t(l).name),e(y,t(l).what)},[()=>h(`editor?text=`+encodeURIComponent(t(l).text))]),o(`click`,m,function(...e){i.onchoose?.apply(this,e)}),d(r,p)}),f(z),d(r,z),l()}r([`click`]);export{F as default};