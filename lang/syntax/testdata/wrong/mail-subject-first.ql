MAIL SUBJECT "a" TO "ada@example.com" TEXT "b"
