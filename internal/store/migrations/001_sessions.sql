CREATE TABLE sessions (
	id          TEXT PRIMARY KEY,
	box         TEXT NOT NULL,
	backend     TEXT NOT NULL,
	agent       TEXT NOT NULL,
	model       TEXT NOT NULL DEFAULT '',
	repo        TEXT NOT NULL,
	repo_key    TEXT NOT NULL,
	branch      TEXT NOT NULL,
	base        TEXT NOT NULL,
	origin      TEXT NOT NULL,
	plan        TEXT NOT NULL,
	title       TEXT NOT NULL DEFAULT '',
	state       TEXT NOT NULL,
	reason      TEXT NOT NULL DEFAULT '',
	tip         TEXT NOT NULL DEFAULT '',
	wip         TEXT NOT NULL DEFAULT '',
	exit_code   INTEGER NOT NULL DEFAULT 0,
	created_at  INTEGER NOT NULL,
	started_at  INTEGER NOT NULL DEFAULT 0,
	finished_at INTEGER NOT NULL DEFAULT 0,
	pulled_at   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX sessions_by_box ON sessions (box, created_at);

-- What a box has of a repository, so that the next push sends only what it lacks.
CREATE TABLE sent (
	box      TEXT NOT NULL,
	repo_key TEXT NOT NULL,
	sha      TEXT NOT NULL,
	sent_at  INTEGER NOT NULL,
	PRIMARY KEY (box, repo_key, sha)
) STRICT, WITHOUT ROWID;
