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
