SET ?id AS MAIL TO "ada@example.com" SUBJECT "a" TEXT "b"
