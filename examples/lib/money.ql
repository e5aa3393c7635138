-- Functions for prices: INCLUDE "/lib/money.ql".

-- The tax on a net price.
DEFINE tax(?net, ?rate DEFAULT 0.19)
  RETURN ROUND(?net * ?rate, 2)
END

-- A label and an amount, in two columns.
DEFINE line(?label, ?amount)
  RETURN PAD_RIGHT(?label, 16) + PAD_LEFT(FORMAT_NUMBER(?amount, 2), 10)
END
