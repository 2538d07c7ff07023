// Package programs builds cco's programs for tests, by the same script as those that are shipped.
package programs

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// Build builds programs into a directory, from the module that the current directory is in. They are named as in cmd,
// or by their path from there.
func Build(ctx context.Context, dir string, names ...string) error {
	return build(ctx, nil, dir, names)
}

// Overlaid is Build with other files in place of some of the module's, as `go help build` says of -overlay.
func Overlaid(ctx context.Context, overlay, dir string, names ...string) error {
	return build(ctx, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay), dir, names)
}

func build(ctx context.Context, env []string, dir string, names []string) error {
	mod, err := proc.Output(ctx, proc.Cmd{Argv: []string{"go", "env", "GOMOD"}})
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	compile := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "scripts", "compile")
	return proc.Run(ctx, proc.Cmd{Env: env, Argv: append([]string{compile, "", "", "", dir}, names...)})
}
