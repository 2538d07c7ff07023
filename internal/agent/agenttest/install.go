package agenttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	adapters "github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/proc"
)

// Program installs an agent from npm, in the version that cco pins, into the module's cache folder, once, and gives its
// program. A test that can't have it fails.
func Program(t testing.TB, agent string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err == nil {
		dir, err = Install(t.Context(), dir, agent)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Not by the link in the tree: a cage has a /tmp of its own, in which a clone may lie.
	real, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(real, filepath.Base(dir))
}

// Install is Program for those that are no tests; dir is somewhere in the module.
func Install(ctx context.Context, dir, agent string) (program string, err error) {
	a, err := adapters.Find(agent)
	if err != nil {
		return "", err
	}
	pkg := a.Package().Name + "@" + a.Package().Version
	root, err := moduleRoot(dir)
	if err != nil {
		return "", err
	}
	name := strings.NewReplacer("/", "-", "@", "-").Replace(pkg)
	cache := filepath.Join(root, ".cache", "npm")
	home := filepath.Join(cache, name)
	program = filepath.Join(home, "node_modules", ".bin", agent)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(home + ".lock") // packages are tested side by side
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	// Under another name first, so that an interrupted installation is not taken for a whole one.
	half := home + ".half"
	for _, d := range []string{half, home} {
		if err := os.RemoveAll(d); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(half, 0o755); err != nil {
		return "", err
	}
	argv := []string{"npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", half, pkg}
	if err := proc.Run(ctx, proc.Cmd{Dir: half, Argv: argv}); err != nil {
		return "", fmt.Errorf("install %s: %w (it needs npm and a registry)", pkg, err)
	}
	return program, os.Rename(half, home)
}

func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { _ = f.Close() }, nil
}

func moduleRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in a module", dir)
		}
	}
}
