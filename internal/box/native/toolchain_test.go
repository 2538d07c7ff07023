package native

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestToolchains(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{
		".nvm/versions/node/v22/bin", ".cargo/bin", ".cargo/registry", ".rustup/toolchains", ".local/bin", ".local/share/claude/versions",
		".venvs/tool/bin", ".npm-global/lib/node_modules/pkg", ".npm-global/bin", ".ssh/bin", ".config/x/bin", "scripts/bin", "project",
	} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{".cargo/credentials.toml", ".local/share/claude/versions/2.0", ".venvs/tool/pyvenv.cfg", ".venvs/tool/bin/tool", ".npm-global/lib/node_modules/pkg/cli.js", ".ssh/id", "project/secret"} {
		if err := os.WriteFile(filepath.Join(home, file), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		".local/bin/claude": home + "/.local/share/claude/versions/2.0", ".local/bin/tool": "../../.venvs/tool/bin/tool",
		".npm-global/bin/pkg": "../lib/node_modules/pkg/cli.js", ".local/bin/key": "../../.ssh/id", ".local/bin/sh": "/bin/sh", ".local/bin/all": home,
		".local/bin/gone": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, m := range Toolchains(home, home+"/.nvm/versions/node/v22/bin", home+"/.npm-global/bin", home+"/.ssh/bin", home+"/.config/x/bin", home+"/project", home+"/scripts/bin/", "/usr/bin") {
		rel, err := filepath.Rel(home, m.Path)
		if err != nil || m.Write {
			t.Errorf("%+v: %v", m, err)
		}
		got = append(got, rel)
	}
	slices.Sort(got)
	want := []string{".cargo/bin", ".local/bin", ".local/share/claude/versions/2.0", ".npm-global/bin", ".npm-global/lib/node_modules", ".nvm", ".rustup", ".venvs/tool", "scripts/bin"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	env := toolchainEnv(home, Toolchains(home))
	if want := []string{"NVM_DIR=" + home + "/.nvm", "RUSTUP_HOME=" + home + "/.rustup"}; !slices.Equal(env, want) {
		t.Errorf("environment %q", env)
	}
}
