MAIL TO "ada@example.com" SUBJECT "a" BODY "b"
