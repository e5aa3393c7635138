EMIT "Hello, " + (!GET('name') DEFAULT "stranger") + "!"
