-- Sessions, and what each box, phase and forge needs to have remembered.
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
	pulled_at   INTEGER NOT NULL DEFAULT 0,
	cli_session TEXT NOT NULL DEFAULT '',
	cli_total   TEXT NOT NULL DEFAULT '',
	question    TEXT NOT NULL DEFAULT '',
	asked_at    INTEGER NOT NULL DEFAULT 0,
	cause       TEXT NOT NULL DEFAULT ''
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

-- What was spent by day, repository, agent, model and phase: it outlives the record of its session, and a session can
-- go on with another agent and uses several models. An estimate is of a model without a price, or of an answer that did
-- not say what it used.
CREATE TABLE spend (
	home        TEXT NOT NULL DEFAULT '',
	session     TEXT NOT NULL,
	day         TEXT NOT NULL,
	agent       TEXT NOT NULL DEFAULT '',
	model       TEXT NOT NULL DEFAULT '',
	repo        TEXT NOT NULL DEFAULT '',
	repo_key    TEXT NOT NULL DEFAULT '',
	phase       TEXT NOT NULL DEFAULT '',
	input       INTEGER NOT NULL DEFAULT 0,
	output      INTEGER NOT NULL DEFAULT 0,
	cache_read  INTEGER NOT NULL DEFAULT 0,
	cache_write INTEGER NOT NULL DEFAULT 0,
	cost        REAL NOT NULL DEFAULT 0,
	estimate    INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (home, session, day, agent, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX spend_by_day ON spend (day);

-- Money and tokens that several sessions share. What a request may cost at most is held until it is known what it cost;
-- 0 is no limit.
CREATE TABLE budgets (
	id           TEXT PRIMARY KEY,
	cost         REAL NOT NULL,
	tokens       INTEGER NOT NULL,
	spent_cost   REAL NOT NULL DEFAULT 0,
	spent_tokens INTEGER NOT NULL DEFAULT 0,
	created_at   INTEGER NOT NULL
) STRICT;
CREATE TABLE budget_holds (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	budget  TEXT NOT NULL,
	session TEXT NOT NULL,
	cost    REAL NOT NULL,
	tokens  INTEGER NOT NULL
) STRICT;
CREATE INDEX budget_holds_by_budget ON budget_holds (budget);

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
	state      TEXT NOT NULL,
	estimate   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX phases_by_branch ON phases (repo, branch, created_at);
CREATE INDEX phases_by_time ON phases (ended, created_at);

-- What was sent to phases and not yet read, and what people read of their course.
CREATE TABLE inbox (
	phase TEXT NOT NULL,
	id    TEXT NOT NULL,
	at    INTEGER NOT NULL,
	event TEXT NOT NULL,
	PRIMARY KEY (phase, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE phase_log (
	n     INTEGER PRIMARY KEY AUTOINCREMENT,
	phase TEXT NOT NULL,
	at    INTEGER NOT NULL,
	text  TEXT NOT NULL
) STRICT;
CREATE INDEX phase_log_by_phase ON phase_log (phase, n);

-- What we said on forges, written down before it was said: a key names the intention, the marker is hidden in the words.
CREATE TABLE forge_writes (
	repo       TEXT NOT NULL,
	key        TEXT NOT NULL,
	number     INTEGER NOT NULL,
	kind       TEXT NOT NULL,
	marker     TEXT NOT NULL,
	id         TEXT NOT NULL DEFAULT '',
	url        TEXT NOT NULL DEFAULT '',
	created_at INTEGER NOT NULL,
	PRIMARY KEY (repo, key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX forge_writes_by_marker ON forge_writes (repo, marker);
CREATE INDEX forge_writes_by_id ON forge_writes (repo, id) WHERE id <> '';

-- What was removed and is kept for a while: a directory of the graveyard for each. A removal that was broken off is
-- recorded as "removing", and the next start finishes it.
CREATE TABLE graves (
	session     TEXT NOT NULL,
	n           INTEGER NOT NULL,
	state       TEXT NOT NULL,
	box         TEXT NOT NULL,
	box_made_at INTEGER NOT NULL,
	repo_key    TEXT NOT NULL,
	arrived     INTEGER NOT NULL,
	held        TEXT NOT NULL,
	bytes       INTEGER NOT NULL,
	buried_at   INTEGER NOT NULL,
	PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;
