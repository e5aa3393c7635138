MAIL TO "ada@example.com" SUBJECT "Hello"
