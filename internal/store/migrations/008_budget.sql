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
