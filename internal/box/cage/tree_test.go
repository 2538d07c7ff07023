//go:build linux

package cage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Guards against a session that can't be removed: deeper than anybody can hold open, closed to its owner, and with
// links that lead out.
func TestFlattenRemovesHostileTrees(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	deep := filepath.Join(dir, strings.Repeat("d/", 300))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, d := 0, deep; i < 300; i, d = i+1, filepath.Dir(d) {
		if err := os.Symlink(outside, filepath.Join(d, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, os.FileMode(i%8)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := flatten(root); err != nil {
		t.Fatal(err)
	}
	if left, err := subdirectories(root, "."); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
