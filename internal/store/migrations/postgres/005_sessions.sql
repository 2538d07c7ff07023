-- What machines tell of the sessions of their phases. The records are in the database of the machine that a session is
-- at home on, and only that judges whether a session has ended.
CREATE TABLE sessions (
	home     TEXT NOT NULL,
	session  TEXT NOT NULL,
	phase    TEXT NOT NULL,
	agent    TEXT NOT NULL,
	state    TEXT NOT NULL,
	cost     DOUBLE PRECISION NOT NULL,
	estimate BOOLEAN NOT NULL,
	tokens   BIGINT NOT NULL,
	told_at  TIMESTAMPTZ NOT NULL,
	PRIMARY KEY (home, session)
);
CREATE INDEX sessions_by_phase ON sessions (phase);
