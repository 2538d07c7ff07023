-- Phases as people see them. What a phase does next is decided by the engine's own record.
CREATE TABLE phases (
	id         TEXT PRIMARY KEY,
	repo       TEXT NOT NULL,
	branch     TEXT NOT NULL DEFAULT '',
	kind       TEXT NOT NULL,
	stage      TEXT NOT NULL,
	ended      INTEGER NOT NULL DEFAULT 0,
	title      TEXT NOT NULL DEFAULT '',
	pr_number  INTEGER NOT NULL DEFAULT 0,
	pr_url     TEXT NOT NULL DEFAULT '',
	cost       REAL NOT NULL DEFAULT 0,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	state      TEXT NOT NULL
) STRICT;
CREATE INDEX phases_by_branch ON phases (repo, branch, created_at);
CREATE INDEX phases_by_time ON phases (ended, created_at);
