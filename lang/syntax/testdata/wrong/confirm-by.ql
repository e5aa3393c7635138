CONFIRM "Go on?" TO "ada@example.com" BY PHONE SET ?ok
