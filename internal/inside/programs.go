package inside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// maxPrograms is the limit of configured filters that are switched off: more would not fit into an environment.
const maxPrograms = 200

// quiet is the configuration that overrides the agent's.
func quiet() [][2]string {
	all := [][2]string{
		{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"core.pager", "cat"}, {"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"commit.gpgSign", "false"}, {"log.showSignature", "false"}, {"advice.addEmbeddedRepo", "false"},
		{"advice.graftFileDeprecated", "false"}, {"submodule.recurse", "false"}, {"safe.directory", "*"},
		{"core.sshCommand", "false"}, {"core.askPass", ""}, {"credential.helper", ""}, {"protocol.allow", "never"},
		{"core.fileMode", "true"}, {"core.ignoreCase", "false"}, {"core.symlinks", "true"},
		{"core.autocrlf", "false"}, {"core.eol", "native"}, {"core.safecrlf", "false"}, {"core.precomposeUnicode", "false"},
		{"core.excludesFile", "/dev/null"}, {"core.attributesFile", "/dev/null"}, {"mailmap.file", "/dev/null"},
	}
	// Nothing here needs a transport. If an object is missing, git would fetch it with a program that the agent names.
	for _, p := range []string{"file", "git", "http", "https", "ssh", "ext"} {
		all = append(all, [2]string{"protocol." + p + ".allow", "never"})
	}
	return all
}

// calm switches off the filters that the repository configures: files are kept unchanged, and no filter program can
// hang or refuse them.
func (r repo) calm(ctx context.Context) (repo, error) {
	if r.names == "" {
		if err := r.readSettings(ctx, Job{}); err != nil {
			return r, err
		}
	}
	seen := map[string]bool{}
	for key := range strings.SplitSeq(r.names, "\x00") {
		name, ok := strings.CutPrefix(key, "filter.")
		dot := strings.LastIndexByte(name, '.')
		if !ok || dot < 0 || seen[name[:dot]] {
			continue
		}
		name = name[:dot]
		if seen[name] = true; len(seen) > maxPrograms {
			return r, errors.New("it has too many filters")
		}
		for _, kv := range [][2]string{{"clean", ""}, {"smudge", ""}, {"process", ""}, {"required", "false"}} {
			r.off = append(r.off, [2]string{"filter." + name + "." + kv[0], kv[1]})
		}
	}
	return r, nil
}

// withoutAttributes puts aside the attributes that only the repository itself has, until its result is called: they
// come with no commit, and would change the ends of lines and more of what is saved.
func (r repo) withoutAttributes() (back func()) {
	name := filepath.Join(commonDir(cmp.Or(r.gitDir, adminDir(r.dir))), "info", "attributes")
	aside := name + ".cco-aside"
	_ = os.Rename(name, aside) // usually there are none
	return func() { _ = os.Rename(aside, name) }
}

// promises says whether settings make git silent about objects that are not there.
func (r repo) promises() bool {
	for key := range strings.SplitSeq(r.names, "\x00") {
		if key == "extensions.partialclone" || strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") {
			return true
		}
	}
	return false
}

// These limit what settings can make of reading them.
const (
	readTime    = 20 * time.Second
	maxSettings = 1 << 20 // bytes, of the names in them
)

// legible gives a workspace's repository new settings if git can't read those that it has. There are more ways to
// make git wait for a FIFO than can be looked for: an include by a condition, by another file, by the name of a user.
func (r *repo) legible(ctx context.Context, j Job) error {
	dir := commonDir(adminDir(j.Workspace))
	name := filepath.Join(dir, "config")
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().IsRegular() {
		if err := r.readSettings(ctx, j); err == nil || ctx.Err() != nil {
			return err
		}
	}
	_ = os.Chmod(dir, 0o700) // the agent may have closed it
	aside := name + ".cco-unread"
	if err := errors.Join(tree.Remove(aside), os.Rename(name, aside)); err != nil {
		return err
	}
	return whole.Write(name, []byte(configText(j)), 0o600)
}

// readSettings makes git read all settings of a repository, and remembers their names.
func (r *repo) readSettings(ctx context.Context, j Job) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(j.readTime, readTime))
	defer cancel()
	c := r.cmd("config", "--list", "--name-only", "-z")
	out := &limited{max: maxSettings}
	c.Stdout = out
	if err := proc.Run(ctx, c); err != nil {
		return fmt.Errorf("its settings can't be read: %w", err)
	}
	r.names = out.String()
	return nil
}
