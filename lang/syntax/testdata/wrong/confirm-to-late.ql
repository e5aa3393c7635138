CONFIRM "Pay?" SET ?ok TO "finance"
