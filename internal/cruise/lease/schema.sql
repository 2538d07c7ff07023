-- Machines that run phases. Times are the database's own: nobody else's clock decides who is alive.
CREATE TABLE workers (
	id            TEXT PRIMARY KEY,
	incarnation   BIGINT NOT NULL,
	labels        TEXT[] NOT NULL,
	accounts      TEXT[] NOT NULL,
	versions      TEXT[] NOT NULL,
	slots         INTEGER NOT NULL,
	began_at      TIMESTAMPTZ NOT NULL,
	contact_since TIMESTAMPTZ NOT NULL,
	beat_at       TIMESTAMPTZ NOT NULL
);

-- Where each phase is at home. The epoch counts its homes: an effect of an earlier one is refused.
CREATE TABLE homes (
	phase     TEXT PRIMARY KEY,
	account   TEXT NOT NULL,
	needs     TEXT[] NOT NULL,
	version   TEXT NOT NULL,
	worker    TEXT REFERENCES workers (id),
	epoch     BIGINT NOT NULL DEFAULT 0,
	ended     BOOLEAN NOT NULL DEFAULT FALSE,
	queued_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX homes_by_worker ON homes (worker) WHERE NOT ended;
