MAIL TO "ada@example.com" SUBJECT "a" HTML
