-- Old deliveries are found without looking at the others.
CREATE INDEX deliveries_settled ON deliveries (settled) WHERE settled IS NOT NULL;
