SIGNAL "paid" USING {a: 1}
