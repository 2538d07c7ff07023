-- How busy a worker's machine is, as its kernel counts: processes that run or wait to, for each core.
ALTER TABLE workers ADD COLUMN load DOUBLE PRECISION NOT NULL DEFAULT 0;
