// Package programs builds cco's programs for tests, by the same script as those that are shipped. Packages share what
// one of them has built.
package programs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/cco-dev/cco/internal/proc"
)

// handed names a directory with programs that were just built of this very tree: make test gives it.
const handed = "CCO_PROGRAMS"

// Build puts programs into a directory, from the module that the current directory is in. They are named as in cmd, or
// by their path from there.
func Build(ctx context.Context, dir string, names ...string) error {
	root, err := module(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cache := filepath.Join(root, ".cache", "programs")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(cache, "lock"))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	from := map[string]string{}
	missing := map[string][]string{} // by the directory that they are built into: two may have one name
	for _, name := range names {
		at := filepath.Join(cache, strings.ReplaceAll(filepath.Dir(name), "/", "-"))
		if given := os.Getenv(handed); given != "" && name == filepath.Base(name) {
			at = given
		} else {
			missing[at] = append(missing[at], name)
		}
		from[filepath.Base(name)] = at
	}
	for at, names := range missing {
		// Go leaves a program that is there alone if nothing that it is built from has changed.
		if err := compile(ctx, root, nil, at, names); err != nil {
			return err
		}
	}
	for name, at := range from {
		if err := copyTo(filepath.Join(dir, name), filepath.Join(at, name)); err != nil {
			return err
		}
	}
	return nil
}

// Overlaid builds programs with other files in place of some of the module's, as `go help build` says of -overlay.
func Overlaid(ctx context.Context, overlay, dir string, names ...string) error {
	root, err := module(ctx)
	if err != nil {
		return err
	}
	return compile(ctx, root, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay), dir, names)
}

func module(ctx context.Context) (string, error) {
	mod, err := proc.Output(ctx, proc.Cmd{Argv: []string{"go", "env", "GOMOD"}})
	return filepath.Dir(strings.TrimSpace(string(mod))), err
}

func compile(ctx context.Context, root string, env []string, dir string, names []string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	argv := append([]string{filepath.Join(root, "scripts", "compile"), "", "", "", dir}, names...)
	return proc.Run(ctx, proc.Cmd{Env: env, Argv: argv})
}

// copyTo copies a program. A link would be cheaper, and one test's hand on its program would be on everybody's.
func copyTo(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
