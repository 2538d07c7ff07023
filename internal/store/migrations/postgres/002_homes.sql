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

-- Where each phase is at home. The epoch counts its homes: an effect of an earlier one is refused. Workers that refused
-- the phase are not asked again until they are started anew.
CREATE TABLE homes (
	phase     TEXT PRIMARY KEY,
	account   TEXT NOT NULL,
	needs     TEXT[] NOT NULL,
	version   TEXT NOT NULL,
	worker    TEXT REFERENCES workers (id),
	epoch     BIGINT NOT NULL DEFAULT 0,
	ended     BOOLEAN NOT NULL DEFAULT FALSE,
	refused   TEXT[] NOT NULL DEFAULT '{}',
	queued_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX homes_by_worker ON homes (worker) WHERE NOT ended;

-- Commits of phases that the forge does not have, or may not have yet: what the user never pushed, and what came out of
-- a workspace. A machine that takes over restores the work from them.
CREATE TABLE bundles (
	phase   TEXT NOT NULL,
	name    TEXT NOT NULL,
	base    TEXT NOT NULL,
	head    TEXT NOT NULL,
	epoch   BIGINT NOT NULL,
	kept_at TIMESTAMPTZ NOT NULL,
	data    BYTEA NOT NULL,
	PRIMARY KEY (phase, name)
);

-- Heads that were pushed or were about to be, recorded before each push. Any other head was pushed by somebody else.
CREATE TABLE heads (
	phase     TEXT NOT NULL,
	head      TEXT NOT NULL,
	epoch     BIGINT NOT NULL,
	pushed_at TIMESTAMPTZ NOT NULL,
	PRIMARY KEY (phase, head)
);
