//go:build heavy

package install

import (
	"debug/elf"
	"debug/macho"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// The pinned versions can be installed for machines that can't be tried here. opencode is left out: not every registry
// has its packages for them.
func TestRealInstallForAnotherPlatform(t *testing.T) {
	data := t.TempDir()
	for _, at := range []Platform{{"linux", "arm64"}, {"darwin", "arm64"}} {
		for _, name := range []string{"claude", "codex", "gemini"} {
			t.Run(at.String()+"/"+name, func(t *testing.T) {
				p := must.Get(Install(t.Context(), data, adapter(t, name), "", at, nil))(t)
				program := p.Path
				if name == "gemini" {
					program = nodeProgram(p.Dir, at)
					if text, err := os.ReadFile(p.Path); err != nil ||
						!strings.Contains(string(text), strings.TrimPrefix(program, p.Dir)) {
						t.Errorf("%v: %s", err, text)
					}
				}
				checkMachine(t, at.OS, program)
				// Megabytes each, and nothing here runs them.
				if err := os.RemoveAll(filepath.Join(p.Dir, "node_modules")); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func checkMachine(t *testing.T, goos, program string) {
	t.Helper()
	if goos == "darwin" {
		f := must.Get(macho.Open(program))(t)
		defer func() { _ = f.Close() }()
		if f.Cpu != macho.CpuArm64 || f.Type != macho.TypeExec {
			t.Errorf("%s is a %v for %v", program, f.Type, f.Cpu)
		}
		return
	}
	f := must.Get(elf.Open(program))(t)
	defer func() { _ = f.Close() }()
	if f.Machine != elf.EM_AARCH64 || f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		t.Errorf("%s is a %v for %v", program, f.Type, f.Machine)
	}
}
