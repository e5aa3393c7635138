var name = "Ada";
EMIT ?name
