package inside

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
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
	out, err := r.text(ctx, nil, "config", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if err != nil && out == "" {
		return r, ctx.Err() // there are none
	}
	seen := map[string]bool{}
	for key := range strings.SplitSeq(out, "\x00") {
		name := strings.TrimPrefix(key, "filter.")
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 || seen[name[:dot]] {
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

// maxIncludes is how many settings files are looked at, one included by another. Git gives up at a depth of ten.
const maxIncludes = 100

// dropIncludes removes from the workspace's own settings what includes anything but a file: git would wait for a FIFO
// forever.
func dropIncludes(ctx context.Context, j Job) {
	if j.Shared {
		return // out of the agent's reach
	}
	admin := filepath.Join(j.Workspace, ".git")
	more, _ := filepath.Glob(filepath.Join(admin, "worktrees", "*", "config.worktree")) // the pattern is right
	for _, name := range append(more, filepath.Join(admin, "config"), filepath.Join(admin, "config.worktree")) {
		for _, kv := range included(ctx, name) {
			if left := maxIncludes; waits(ctx, name, kv[1], &left) {
				_, _ = settings(ctx, name, "--unset-all", kv[0]) // if it stays, the time limit ends the wait
			}
		}
	}
}

// waits says whether git would wait for a file that settings include, or for one that is included there.
func waits(ctx context.Context, by, name string, left *int) bool {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(os.Getenv("HOME"), rest)
	} else if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(by), name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return false
	}
	if *left--; !info.Mode().IsRegular() || *left < 0 {
		return true
	}
	for _, kv := range included(ctx, name) {
		if waits(ctx, name, kv[1], left) {
			return true
		}
	}
	return false
}

// included are the keys and values of a settings file that include others.
func included(ctx context.Context, name string) (list [][2]string) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	out, _ := settings(ctx, name, "-z", "--get-regexp", `^include(if\..*)?\.path$`) // there may be none
	for entry := range strings.SplitSeq(out, "\x00") {
		if key, value, ok := strings.Cut(entry, "\n"); ok {
			list = append(list, [2]string{key, value})
		}
	}
	return list
}

// settings reads or changes one settings file, without those of a repository.
func settings(ctx context.Context, name string, args ...string) (string, error) {
	cmd := repo{dir: "/", gitDir: "/dev/null/none"}.cmd(append([]string{"config", "--file", name}, args...)...)
	out, err := proc.Output(ctx, cmd)
	return string(out), err
}
