MAIL TO "ada@example.com" SUBJECT "a" SUBJECT "b" TEXT "c"
