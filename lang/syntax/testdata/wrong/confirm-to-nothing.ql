CONFIRM "Pay?" TO SET ?ok
