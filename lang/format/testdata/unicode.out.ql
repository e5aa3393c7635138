SET ?größe AS {straße: "ä", नमस्ते: 1}
EMIT ?größe.straße, ?größe.नमस्ते -- Ünïcode
EMIT "👨‍👩‍👧 … “quotes”"
DEFINE função(?é)
  RETURN ?é
END
CALL função(1)
