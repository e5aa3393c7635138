CONFIRM "Pay?" TO "a" TO "b"
