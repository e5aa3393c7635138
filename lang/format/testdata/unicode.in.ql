set ?größe as {straße:"ä",नमस्ते:1} emit ?größe.straße,?größe.नमस्ते -- Ünïcode
emit "👨‍👩‍👧 … “quotes”"
define função(?é) return ?é end call função(1)
