USE "shop"
