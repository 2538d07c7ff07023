ALTER TABLE sessions ADD COLUMN cli_session TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN cli_total TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN question TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN asked_at INTEGER NOT NULL DEFAULT 0;

-- What each session has used of its model, by the user's own days, because limits hold for a day.
CREATE TABLE spend (
	session     TEXT NOT NULL,
	day         TEXT NOT NULL,
	input       INTEGER NOT NULL DEFAULT 0,
	output      INTEGER NOT NULL DEFAULT 0,
	cache_read  INTEGER NOT NULL DEFAULT 0,
	cache_write INTEGER NOT NULL DEFAULT 0,
	cost        REAL NOT NULL DEFAULT 0,
	PRIMARY KEY (session, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX spend_by_day ON spend (day);
