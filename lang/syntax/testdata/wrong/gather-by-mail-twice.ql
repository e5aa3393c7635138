GATHER "name" TO "ada@example.com" BY MAIL BY MAIL SET ?form
