-- Says hello, with a name from the request.
--
--   ql run examples/hello.ql --get name=Ada
EMIT LINE "Hello, {!GET('name') DEFAULT "stranger"}!"
