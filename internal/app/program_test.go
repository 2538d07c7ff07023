package app

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/install"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/term"
)

// machine is a driver of boxes on this machine's platform that see nothing of it.
type machine struct {
	box.Driver
	says string // of the program's version, "" if there is none
	err  error
}

func (machine) Platform(context.Context, *box.Box) (goos, arch string, err error) {
	return install.Host().OS, install.Host().Arch, nil
}

func (m machine) Run(_ context.Context, _ *box.Box, e box.Exec) error {
	if m.err != nil {
		return m.err
	}
	if m.says == "" {
		return &proc.ExitError{Argv: e.Argv, Code: 127}
	}
	_, err := io.WriteString(e.Stdout, m.says)
	return err
}

// npm puts down a program that says its version.
const npm = `#!/bin/sh
set -e
if test -n "$NPM_FAIL"; then echo "npm error no network" >&2; exit 1; fi
case $(uname -m) in x86_64) arch=x64;; *) arch=arm64;; esac
p=$3/node_modules/@anthropic-ai/claude-code-$(uname | tr A-Z a-z)-$arch/claude
mkdir -p "$(dirname "$p")"
printf '#!/bin/sh\necho 2.1.325\n' > "$p"
chmod +x "$p"
echo '{"packages":{"node_modules/@anthropic-ai/claude-code":{"version":"2.1.325","integrity":"sha512-sum"}}}' \
	> "$3/package-lock.json"
`

// Guards against a machine that has to be given by hand what cco could put there, and against a host's own program,
// which a machine can't see, being counted on.
func TestMachinesGetTheAgentsThatTheyLack(t *testing.T) {
	claude := must.Get(agent.Find("claude"))(t)
	bin := t.TempDir()
	for name, text := range map[string]string{"npm": npm, "claude": "#!/bin/sh\necho 9.9.9\n"} {
		must.Do(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755))
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	broken := errors.New("the machine is gone")
	for _, tt := range []struct {
		name     string
		machine  machine
		there    bool // installed before
		fail     string
		installs bool
		err      string
	}{
		{name: "it has one", machine: machine{says: "2.1.400 (Claude Code)"}},
		{name: "it has none", installs: true},
		{name: "it has an old one", machine: machine{says: "1.0.9 (Claude Code)"}, installs: true},
		{name: "it has one that says nothing", machine: machine{says: "hello"}, installs: true},
		{name: "it has one that hangs", machine: machine{err: &box.LimitError{What: "time"}}, installs: true},
		{name: "installed before", machine: machine{err: broken}, there: true},
		{name: "it can't be asked", machine: machine{err: broken}, err: broken.Error()},
		{name: "npm fails", fail: "1", installs: true, err: "no network"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _, words := term.Test("")
			a := &App{IO: s, Dirs: config.Dirs{Data: t.TempDir()}}
			if tt.there {
				must.Get(install.Install(t.Context(), a.Dirs.Data, claude, "", install.Host(), nil))(t)
			}
			t.Setenv("NPM_FAIL", tt.fail)
			path, dirs, err := a.program(t.Context(), claude, &box.Box{Name: "vm"}, tt.machine)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || path != "" {
					t.Errorf("%q, %v", path, err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			given := tt.err == "" && (tt.installs || tt.there)
			if given != (len(dirs) == 1 && strings.HasPrefix(path, dirs[0]+"/")) || !given && path != "" {
				t.Errorf("%q in %q", path, dirs)
			}
			told := "cco: installing claude " + claude.Package().Version + " for " + install.Host().String() + "\n"
			if tt.installs != (words.String() == told) || !tt.installs && words.String() != "" {
				t.Errorf("it said %q", words)
			}
		})
	}
}
