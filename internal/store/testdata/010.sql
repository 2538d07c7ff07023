-- What SQLite says of a database that the code of schema 10 made by ten migrations, with a session and a phase.
CREATE TABLE budget_holds (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	budget  TEXT NOT NULL,
	session TEXT NOT NULL,
	cost    REAL NOT NULL,
	tokens  INTEGER NOT NULL
) STRICT;
CREATE TABLE budgets (
	id           TEXT PRIMARY KEY,
	cost         REAL NOT NULL,
	tokens       INTEGER NOT NULL,
	spent_cost   REAL NOT NULL DEFAULT 0,
	spent_tokens INTEGER NOT NULL DEFAULT 0,
	created_at   INTEGER NOT NULL
) STRICT;
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
CREATE TABLE inbox (
	phase TEXT NOT NULL,
	id    TEXT NOT NULL,
	at    INTEGER NOT NULL,
	event TEXT NOT NULL,
	PRIMARY KEY (phase, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "inbox" VALUES('00000001','e',-6795364578871345152,'{}');
CREATE TABLE phase_log (
	n     INTEGER PRIMARY KEY AUTOINCREMENT,
	phase TEXT NOT NULL,
	at    INTEGER NOT NULL,
	text  TEXT NOT NULL
) STRICT;
INSERT INTO "phase_log" VALUES(1,'00000001',1800000000000000000,'begins');
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
, estimate INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "phases" VALUES('00000001','/r','b','planning','review',0,'p',0,'',0.0,1800000000000,1800000000000,'{"round":1}',0);
CREATE TABLE sent (
	box      TEXT NOT NULL,
	repo_key TEXT NOT NULL,
	sha      TEXT NOT NULL,
	sent_at  INTEGER NOT NULL,
	PRIMARY KEY (box, repo_key, sha)
) STRICT, WITHOUT ROWID;
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
, cli_session TEXT NOT NULL DEFAULT '', cli_total TEXT NOT NULL DEFAULT '', question TEXT NOT NULL DEFAULT '', asked_at INTEGER NOT NULL DEFAULT 0, cause TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "sessions" VALUES('3f9c01aa','cco-sandbox','native','script','','/r','k','main','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','','plan.md','a title','paused','limits.day_cost of $5.00 is reached','','',0,1700000000000,0,0,0,'','','',0,'limits.day_cost');
CREATE TABLE "spend" (
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
CREATE INDEX sessions_by_box ON sessions (box, created_at);
CREATE INDEX phases_by_branch ON phases (repo, branch, created_at);
CREATE INDEX phases_by_time ON phases (ended, created_at);
CREATE UNIQUE INDEX forge_writes_by_marker ON forge_writes (repo, marker);
CREATE INDEX forge_writes_by_id ON forge_writes (repo, id) WHERE id <> '';
CREATE INDEX budget_holds_by_budget ON budget_holds (budget);
CREATE INDEX phase_log_by_phase ON phase_log (phase, n);
CREATE INDEX spend_by_day ON spend (day);
PRAGMA user_version = 10;
