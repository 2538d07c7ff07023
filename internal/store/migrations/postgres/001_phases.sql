-- What phases of several machines share. The columns are those of the local database, where they are explained; numbers
-- stand for truth values there and here, so that both understand the same statements.
CREATE TABLE phases (
	id         TEXT PRIMARY KEY,
	repo       TEXT NOT NULL,
	branch     TEXT NOT NULL DEFAULT '',
	kind       TEXT NOT NULL,
	stage      TEXT NOT NULL,
	ended      BIGINT NOT NULL DEFAULT 0,
	title      TEXT NOT NULL DEFAULT '',
	pr_number  BIGINT NOT NULL DEFAULT 0,
	pr_url     TEXT NOT NULL DEFAULT '',
	cost       DOUBLE PRECISION NOT NULL DEFAULT 0,
	estimate   BIGINT NOT NULL DEFAULT 0,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	state      TEXT NOT NULL
);
CREATE INDEX phases_by_branch ON phases (repo, branch, created_at);
CREATE INDEX phases_by_time ON phases (ended, created_at);

CREATE TABLE forge_writes (
	repo       TEXT NOT NULL,
	key        TEXT NOT NULL,
	number     BIGINT NOT NULL,
	kind       TEXT NOT NULL,
	marker     TEXT NOT NULL,
	id         TEXT NOT NULL DEFAULT '',
	url        TEXT NOT NULL DEFAULT '',
	created_at BIGINT NOT NULL,
	PRIMARY KEY (repo, key)
);
CREATE UNIQUE INDEX forge_writes_by_marker ON forge_writes (repo, marker);
CREATE INDEX forge_writes_by_id ON forge_writes (repo, id) WHERE id <> '';

CREATE TABLE inbox (
	phase TEXT NOT NULL,
	id    TEXT NOT NULL,
	at    BIGINT NOT NULL,
	event TEXT NOT NULL,
	PRIMARY KEY (phase, id)
);
CREATE TABLE phase_log (
	n     BIGSERIAL PRIMARY KEY,
	phase TEXT NOT NULL,
	at    BIGINT NOT NULL,
	text  TEXT NOT NULL
);
CREATE INDEX phase_log_by_phase ON phase_log (phase, n);

CREATE TABLE spend (
	home        TEXT NOT NULL,
	session     TEXT NOT NULL,
	day         TEXT NOT NULL,
	agent       TEXT NOT NULL DEFAULT '',
	model       TEXT NOT NULL DEFAULT '',
	repo        TEXT NOT NULL DEFAULT '',
	repo_key    TEXT NOT NULL DEFAULT '',
	phase       TEXT NOT NULL DEFAULT '',
	input       BIGINT NOT NULL DEFAULT 0,
	output      BIGINT NOT NULL DEFAULT 0,
	cache_read  BIGINT NOT NULL DEFAULT 0,
	cache_write BIGINT NOT NULL DEFAULT 0,
	cost        DOUBLE PRECISION NOT NULL DEFAULT 0,
	estimate    BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (home, session, day, agent, model)
);
CREATE INDEX spend_by_day ON spend (day);
