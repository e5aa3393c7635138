MAIL TO "ada@example.com" SUBJECT "a" TEXT "b" CC "bob@example.com"
