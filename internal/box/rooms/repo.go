package rooms

import (
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box/cage"
)

// RepoDir is where a repository's objects are kept. It is made if it is missing.
func (id Identity) RepoDir(l Layout, key string) (string, error) {
	if err := cage.CheckKey("repository", key); err != nil {
		return "", err
	}
	dir := l.Repo(key)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	return dir, id.mkdir(dir)
}
