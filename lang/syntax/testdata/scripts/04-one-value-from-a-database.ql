SELECT COUNT(*) FROM orders WHERE status = 'open' SET VALUE ?open
EMIT "{?open} open orders"
