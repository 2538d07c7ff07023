// Package gittest makes real repositories for tests and benchmarks.
package gittest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Repo is a repository in a temporary directory.
type Repo struct {
	Dir string
	t   testing.TB
}

// Home gives the test an empty home with an identity, so that no configuration of the machine's user counts.
func Home(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for key, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"),
		"GIT_CONFIG_NOSYSTEM": "1",
		"GIT_CONFIG_GLOBAL":   filepath.Join(home, ".gitconfig")} {
		t.Setenv(key, value)
	}
	config := "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n[protocol " +
		"\"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
	must.Do(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600))
	return home
}

// New makes an empty repository in a home of its own. More arguments go to git init.
func New(t *testing.T, args ...string) *Repo {
	t.Helper()
	Home(t)
	return Init(t, filepath.Join(t.TempDir(), "repo"), args...)
}

// Init makes an empty repository at dir.
func Init(t testing.TB, dir string, args ...string) *Repo {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
	r := At(t, dir)
	r.Git(append([]string{"init", "-q"}, args...)...)
	if _, err := r.Try("", "config", "user.email"); err != nil { // the home is empty, as on a new machine
		r.Git("config", "user.name", "Test")
		r.Git("config", "user.email", "test@example.org")
	}
	return r
}

// At is the repository that is already at dir.
func At(t testing.TB, dir string) *Repo { return &Repo{Dir: dir, t: t} }

// Git runs git, as a user would, and returns what it prints without the last line break.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return r.Feed("", args...)
}

// Feed runs git with something on its standard input.
func (r *Repo) Feed(stdin string, args ...string) string {
	r.t.Helper()
	out, err := r.Try(stdin, args...)
	if err != nil {
		r.t.Fatalf("git %q: %v", args, err)
	}
	return strings.TrimSuffix(out, "\n")
}

// Try runs git, and gives exactly what it prints and its error.
func (r *Repo) Try(stdin string, args ...string) (string, error) {
	out, err := proc.Output(r.t.Context(), proc.Cmd{
		Argv: append([]string{"git"}, args...), Dir: r.Dir, Stdin: strings.NewReader(stdin),
	})
	return string(out), err
}

// For is the same repository in another test.
func (r *Repo) For(t testing.TB) *Repo { return At(t, r.Dir) }

// Path is the full path of a file in the worktree.
func (r *Repo) Path(name string) string { return filepath.Join(r.Dir, filepath.FromSlash(name)) }

// Write writes a file in the worktree.
func (r *Repo) Write(name, content string) {
	r.t.Helper()
	must.Do(r.t, os.MkdirAll(filepath.Dir(r.Path(name)), 0o755))
	must.Do(r.t, os.WriteFile(r.Path(name), []byte(content), 0o644))
}

// Read reads a file of the worktree.
func (r *Repo) Read(name string) string {
	r.t.Helper()
	b := must.Get(os.ReadFile(r.Path(name)))(r.t)
	return string(b)
}

// Commit writes files (name, content, name, content, …), commits everything, and returns the commit.
func (r *Repo) Commit(message string, files ...string) string {
	r.t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		r.Write(files[i], files[i+1])
	}
	r.Git("add", "-A")
	r.Git("commit", "-q", "--allow-empty", "-m", message)
	return r.Git("rev-parse", "HEAD")
}

// Object writes an object as it stands, malformed or not, and returns its id.
func (r *Repo) Object(kind, content string) string {
	r.t.Helper()
	return r.Feed(content, "hash-object", "-t", kind, "--literally", "-w", "--stdin")
}

// Entry is one line of a tree, for Tree.
type Entry struct{ Mode, Name, OID string }

// Tree writes a tree of these entries, in this order, unchecked.
func (r *Repo) Tree(entries ...Entry) string {
	r.t.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		oid := must.Get(hex.DecodeString(e.OID))(r.t)
		b.WriteString(e.Mode + " " + e.Name + "\x00")
		b.Write(oid)
	}
	return r.Object("tree", b.String())
}

// CommitTree writes a commit of a tree.
func (r *Repo) CommitTree(tree string, parents ...string) string {
	r.t.Helper()
	args := []string{"commit-tree", "-m", "a commit", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return r.Git(args...)
}

// Fingerprint hashes every file of a directory, names and modes with it, for a test to say that nothing was touched.
func Fingerprint(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(p)
		case info.Mode().IsRegular():
			var b []byte
			b, err = os.ReadFile(p)
			content = string(b)
		}
		sum := sha256.Sum256([]byte(content))
		rel, _ := filepath.Rel(dir, p)
		all[rel] = info.Mode().String() + " " + hex.EncodeToString(sum[:])
		return err
	}))
	return all
}

// Generate makes a repository of so many commits and files, with real directories, the same each time.
func Generate(ctx context.Context, dir string, commits, files int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	git := func(stdin *stream, args ...string) error {
		c := proc.Cmd{Argv: append([]string{"git"}, args...), Dir: dir}
		if stdin != nil {
			c.Stdin = stdin
		}
		return proc.Run(ctx, c)
	}
	if err := git(nil, "init", "-q", "-b", "main"); err != nil {
		return err
	}
	for _, kv := range [][2]string{{"user.name", "Test"}, {"user.email", "test@example.org"}} {
		if err := git(nil, "config", kv[0], kv[1]); err != nil {
			return err
		}
	}
	if err := git(&stream{commits: commits, files: files}, "fast-import", "--quiet"); err != nil {
		return err
	}
	return git(nil, "reset", "-q", "--hard", "main")
}
