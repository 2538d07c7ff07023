package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a login that comes along with a directory, and against a link in the home that hides what it leads to.
func TestLogins(t *testing.T) {
	home, outside := must.Get(filepath.EvalSymlinks(t.TempDir()))(t), t.TempDir()
	hidden := []string{".netrc", ".bash_history", ".a-tool-of-tomorrow", ".ssh/id", ".config/gh/hosts.yml",
		"dotfiles/npmrc", ".claude/.credentials.json", ".cursor/x"}
	lay(t, home, append(hidden, ".gitconfig", ".tool-versions", "src/x", "dotfiles/x", ".aws/key")...)
	lay(t, outside, "program")
	for link, target := range map[string]string{".npmrc": "dotfiles/npmrc", "work": "src",
		"program": outside + "/program"} {
		must.Do(t, os.Symlink(target, filepath.Join(home, link)))
	}
	got := Logins(home, []box.Mount{{Path: home + "/.aws"}}, outside)
	for _, name := range hidden {
		if !slices.ContainsFunc(got, func(at string) bool { return strings.HasPrefix(home+"/"+name, at) }) {
			t.Errorf("%s is not hidden", name)
		}
	}
	for _, name := range []string{".gitconfig", ".tool-versions", "src", "dotfiles", ".aws"} {
		if slices.Contains(got, filepath.Join(home, name)) {
			t.Errorf("%s is hidden", name)
		}
	}
	if slices.Contains(got, outside+"/program") || !slices.Contains(got, outside) {
		t.Errorf("outside of the home: %q", got)
	}
}
