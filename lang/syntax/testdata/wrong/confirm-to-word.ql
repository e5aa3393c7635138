CONFIRM "Pay?" TO finance
