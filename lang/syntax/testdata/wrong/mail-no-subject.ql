MAIL TO "ada@example.com" TEXT "Hello"
