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
