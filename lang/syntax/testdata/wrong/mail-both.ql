MAIL TO "ada@example.com" SUBJECT "Hello" TEXT "a" HTML "<b>a</b>"
