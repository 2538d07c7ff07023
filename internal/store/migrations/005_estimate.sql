-- Whether what was spent is an estimate: a model without a price, or an answer that did not say what it used.
ALTER TABLE spend ADD COLUMN estimate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE phases ADD COLUMN estimate INTEGER NOT NULL DEFAULT 0;
