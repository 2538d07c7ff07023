package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/whole"
)

// trustRecord is one accepted file. Each path has its own record file, so that two writers never share one.
type trustRecord struct {
	Path   string `json:"path"`   // for people: the record's file name identifies it
	SHA256 string `json:"sha256"` // of the content that the user saw
}

// Trust records that the user accepts this content of a repository's settings file. It gets the content and does not
// read the file again, so that only what the user was shown is accepted.
func Trust(dataDir, repoFile string, content []byte) error {
	p, name, err := trustFile(dataDir, repoFile)
	if err != nil {
		return fmt.Errorf("trust %s: %w", repoFile, err)
	}
	data, err := json.Marshal(trustRecord{Path: p, SHA256: sum(content)})
	if err != nil {
		return fmt.Errorf("trust %s: %w", repoFile, err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("trust %s: %w", repoFile, err)
	}
	if err := whole.Write(name, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("trust %s: %w", repoFile, err)
	}
	return nil
}

// isTrusted says whether the user has accepted exactly this content at this path. An unreadable record means no.
func isTrusted(dataDir, repoFile string, content []byte) bool {
	_, name, err := trustFile(dataDir, repoFile)
	if err != nil {
		return false
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	var r trustRecord
	return json.Unmarshal(data, &r) == nil && r.SHA256 == sum(content)
}

// TrustedBy is isTrusted as Sources wants it.
func TrustedBy(dataDir, repoFile string) func(content []byte) bool {
	return func(content []byte) bool { return isTrusted(dataDir, repoFile, content) }
}

// Untrust forgets what was accepted at this path. Nothing to forget is no error.
func Untrust(dataDir, repoFile string) error {
	_, name, err := trustFile(dataDir, repoFile)
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("untrust %s: %w", repoFile, err)
	}
	return nil
}

// trustFile gives a file's path with the links of its directory resolved, and the path of its record.
func trustFile(dataDir, repoFile string) (p, name string, err error) {
	p, err = filepath.Abs(repoFile)
	if err != nil {
		return "", "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(p))
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = filepath.Dir(p), nil
	}
	if err != nil {
		return "", "", err
	}
	p = filepath.Join(dir, filepath.Base(p))
	return p, filepath.Join(dataDir, "trust", sum([]byte(p))+".json"), nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
