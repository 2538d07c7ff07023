-- What was sent to phases and not yet read, and what people read of their course: in the database with their records,
-- because phases of several machines can share one.
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

-- The machine that spent it, '' for this one: limits of a day hold over all machines that share a database.
CREATE TABLE spend_by_home (
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
INSERT INTO spend_by_home SELECT '', * FROM spend;
DROP TABLE spend;
ALTER TABLE spend_by_home RENAME TO spend;
CREATE INDEX spend_by_day ON spend (day);
