// Package programs builds cco's programs for tests, by the same script as those that are shipped.
package programs

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// Build builds programs into a directory, from the module that the current directory is in. They are named as in cmd,
// or by their path from there.
func Build(ctx context.Context, dir string, names ...string) error {
	mod, err := proc.Output(ctx, proc.Cmd{Argv: []string{"go", "env", "GOMOD"}})
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	compile := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "scripts", "compile")
	return proc.Run(ctx, proc.Cmd{Argv: append([]string{compile, "", "", "", dir}, names...)})
}
