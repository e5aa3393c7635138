-- The deliveries of one account that are due are found without looking at those
-- of others, and which accounts have some without looking at all of them.
CREATE INDEX deliveries_account_due ON deliveries (account, due) WHERE due IS NOT NULL;
