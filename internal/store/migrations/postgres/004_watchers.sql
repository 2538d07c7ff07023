-- Which machine reads a repository on the forge for all of them, by account and address, and what the others ask it.
-- It may be another one when it has not looked for itself for a while, or is silent.
CREATE TABLE watchers (
	repo   TEXT PRIMARY KEY,
	worker TEXT NOT NULL,
	until  TIMESTAMPTZ NOT NULL
);
CREATE TABLE looks (
	n        BIGSERIAL PRIMARY KEY,
	repo     TEXT NOT NULL,
	watcher  TEXT NOT NULL,
	step     TEXT NOT NULL,
	asked    TEXT NOT NULL,
	asked_at TIMESTAMPTZ NOT NULL,
	taken    BOOLEAN NOT NULL DEFAULT FALSE,
	answer   TEXT,
	failed   BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX looks_by_watcher ON looks (watcher) WHERE NOT taken;
