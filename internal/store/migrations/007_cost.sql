-- What was spent by day, repository, agent, model and phase: it outlives the record of its session, and a session can
-- go on with another agent and uses several models.
CREATE TABLE spend_by_model (
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
	PRIMARY KEY (session, day, agent, model)
) STRICT, WITHOUT ROWID;
INSERT INTO spend_by_model
	SELECT o.session, o.day, COALESCE(s.agent, ''), COALESCE(s.model, ''), COALESCE(s.repo, ''), COALESCE(s.repo_key, ''),
	CASE WHEN s.title LIKE '% of phase ________' THEN substr(s.title, -8) ELSE '' END,
	o.input, o.output, o.cache_read, o.cache_write, o.cost, o.estimate
	FROM spend o LEFT JOIN sessions s ON s.id = o.session;
DROP TABLE spend;
ALTER TABLE spend_by_model RENAME TO spend;
CREATE INDEX spend_by_day ON spend (day);
