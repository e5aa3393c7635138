READ "/config.json" OPTIONAL SET ?cfg
SET ?rate AS ?cfg.rate DEFAULT 0.19
EMIT ?rate
