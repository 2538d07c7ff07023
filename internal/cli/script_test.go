package cli_test

import (
	"os"
	"os/exec" // builds the program under test
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/programs"
)

// TestScripts runs cco as a user types it: the real programs, real git, real boxes.
func TestScripts(t *testing.T) {
	testscript.Run(t, params("script", build(t)))
}

// params are those of all scripts in one directory of testdata, with the programs in bin.
func params(dir, bin string) testscript.Params {
	return testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			if err := os.Mkdir(home, 0o755); err != nil {
				return err
			}
			e.Setenv("HOME", home)
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "data"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("NO_COLOR", "1")
			e.Defer(func() { endSessions(bin, e) })
			gitconfig := "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
			return os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(gitconfig), 0o644)
		},
		Cmds: commands(),
	}
}

// endSessions leaves nothing running when a script fails halfway.
func endSessions(bin string, e *testscript.Env) {
	dirs, _ := filepath.Glob(filepath.Join(e.Getenv("XDG_DATA_HOME"), "cco", "sessions", "*"))
	for _, dir := range dirs {
		id := filepath.Base(dir)
		cmd := exec.Command(filepath.Join(bin, "cco"), "box", "kill", id) //nolint:forbidigo // the program under test
		cmd.Dir, cmd.Env = e.WorkDir, e.Vars
		_ = cmd.Run() // most have ended by themselves
	}
}

// build makes the programs once for all scripts, as they are shipped.
func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	must.Do(t, os.Chmod(bin, 0o755))
	must.Do(t, programs.Build(t.Context(), bin, "cco", "cco-box", "cco-guard"))
	return bin
}
