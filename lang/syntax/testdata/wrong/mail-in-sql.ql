SELECT 1
MAIL TO "ada@example.com" SUBJECT "a" TEXT "b"
