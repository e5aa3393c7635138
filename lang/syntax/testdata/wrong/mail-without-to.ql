MAIL "a@b.example" SUBJECT "x" TEXT "y"
