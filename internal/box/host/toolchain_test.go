package host

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/paths"
)

// private are files below home that nobody has asked to show. Most lie beside files that a toolchain needs.
func private() []string {
	return []string{
		".ssh/id_ed25519", ".gnupg/secring.gpg", ".aws/credentials", ".azure/accessTokens.json", ".kube/config",
		".docker/config.json",
		".netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".git-credentials", ".gitconfig", ".bash_history", ".bashrc",
		".profile", ".env", ".vault-token",
		".config/gh/hosts.yml", ".config/gcloud/credentials.db", ".config/nvm/.git/config", ".config/mise/config.toml",
		".config/uv/uv.toml",
		".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json",
		".local/share/opencode/auth.json",
		".password-store/x.gpg", ".mozilla/firefox/p/key4.db", ".local/share/keyrings/login.keyring", ".m2/settings.xml",
		".gradle/gradle.properties",
		".terraform.d/credentials.tfrc.json", ".gem/credentials", ".bundle/config", ".composer/auth.json",
		".cargo/credentials.toml", ".cargo/config.toml",
		"bin/deploy", ".local/bin/deploy", ".local/bin/key.pem", "go/bin/mine", ".cargo/bin/mine", ".bun/bin/mine",
		".deno/bin/mine", "n/notes", "n/bin/mine",
		"n/lib/secret", "n/etc/npmrc", "sdk/keys/k", "project/.env", ".nvm/.git/config", ".nvm/versions/node/v22/etc/npmrc",
		".nvm/default-packages",
		".fnm/node-versions/v22/installation/etc/npmrc", ".volta/hooks.json", ".volta/tools/image/node/v22/etc/npmrc",
		".volta/log/volta-error.log",
		".nodenv/.git/config", ".nodenv/versions/v22/etc/npmrc", ".asdf/.git/config", ".asdf/plugins/x/.git/config",
		".asdf/installs/nodejs/v22/etc/npmrc",
		".asdf/installs/python/3/pip.conf", ".asdf/.asdfrc", ".local/share/mise/installs/node/v22/etc/npmrc",
		".local/share/mise/installs/python/3/pip.conf",
		".sdkman/candidates/maven/3/conf/settings.xml", ".sdkman/candidates/gradle/8/init.d/x.gradle", ".sdkman/etc/config",
		".pyenv/.git/config",
		".pyenv/versions/3/pip.conf", ".pyenv/versions/3/etc/jupyter/x", ".local/share/uv/credentials/x",
		".local/share/uv/python/3/pip.conf",
		".rustup/credentials", ".rbenv/.git/config", ".rbenv/versions/3/etc/gemrc", ".goenv/.git/config",
		".goenv/versions/1/mine",
		".dotnet/corefx/cryptography/x509stores/my/key.pfx", ".dotnet/tools/mine", ".dotnet/mine",
		".nuget/NuGet/NuGet.Config", ".ghcup/config.yaml",
		".config/nvm/versions/node/v22/etc/npmrc", ".local/share/fnm/node-versions/v22/installation/etc/npmrc", ".jenv/x",
		".local/share/pipx/shared/x", ".local/share/pnpm/store/x", ".local/share/pnpm/rc", ".opam/config", ".opam/repo/x",
		".condarc", "miniconda3/.condarc", "miniconda3/pkgs/x", ".conda/environments.txt",
		".local/state/nix/x", ".local/go/mine",
	}
}

// programs are files below home that must run.
func programs() []string {
	return []string{
		".nvm/nvm.sh", ".nvm/versions/node/v22/bin/node", ".nvm/versions/node/v22/lib/node_modules/npm/npm.js",
		".config/nvm/versions/node/v22/bin/node",
		".fnm/node-versions/v22/installation/bin/node", ".local/share/fnm/node-versions/v22/installation/bin/node",
		".volta/bin/node",
		".volta/tools/image/node/v22/bin/node", ".volta/tools/image/packages/@a/b/lib/x.js", ".nodenv/shims/node",
		".nodenv/versions/v22/bin/node", "n/bin/node",
		"n/n/versions/node/v22/bin/node", ".bun/bin/bun", ".deno/bin/deno", ".asdf/shims/node",
		".asdf/installs/nodejs/v22/bin/node", ".asdf/installs/golang/1/go/bin/go",
		".local/share/mise/shims/node", ".local/share/mise/installs/go/1/bin/go",
		".local/share/mise/installs/java/21/conf/java.security", ".local/bin/mise",
		".local/bin/uv", ".sdkman/candidates/java/21/bin/java", ".sdkman/candidates/maven/3/bin/mvn", ".pyenv/shims/python",
		".pyenv/versions/3/bin/python",
		".local/share/uv/python/3/bin/python", ".rustup/toolchains/stable/bin/rustc", ".rustup/settings.toml",
		".cargo/bin/cargo", ".rbenv/versions/3/bin/ruby",
		".goenv/versions/1/bin/go", "sdk/go1.22/bin/go", ".dotnet/dotnet", ".dotnet/sdk/9/x.dll", ".ghcup/bin/ghc",
		".ghcup/ghc/9/bin/ghc", ".local/share/pnpm/pnpm", ".local/share/pipx/venvs/x/bin/x", ".local/pipx/venvs/x/lib/y.py",
		".local/go/bin/go", ".opam/default/bin/ocaml", ".nix-profile/bin/hello",
		".local/state/nix/profiles/profile/bin/hello",
		"miniconda3/bin/python", "anaconda3/bin/conda", "miniforge3/envs/x/bin/python", "mambaforge/lib/x.so",
		"micromamba/envs/x/lib/y.py", ".conda/envs/x/bin/python", ".local/share/uv/tools/ruff/bin/ruff",
		".asdf/installs/elixir/1/bin/elixir", ".tool-versions",
	}
}

func lay(t *testing.T, home string, files ...string) {
	t.Helper()
	for _, file := range files {
		name := filepath.Join(home, file)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte("#!/bin/sh\necho "+file+"\n"), 0o755))
	}
}

// Guards against a row that shows more than programs: a token, a key, one of the user's settings.
func TestNothingPrivateBelowToolchains(t *testing.T) {
	home := t.TempDir()
	lay(t, home, slices.Concat(private(), programs())...)
	s := Find(home, []string{home + "/bin", home + "/.local/bin", home + "/.cargo/bin", home + "/.ssh"},
		[]string{"claude", "node"})
	for _, file := range private() {
		if s.sees(filepath.Join(home, file)) {
			t.Errorf("%s is shown", file)
		}
	}
	for _, file := range programs() {
		if !s.sees(filepath.Join(home, file)) {
			t.Errorf("%s is not shown", file)
		}
	}
	for _, row := range toolchains() {
		if !slices.ContainsFunc(programs(), func(file string) bool { return paths.Within(file, row.dir) }) {
			t.Errorf("%s: nothing of it is tried", row.dir)
		}
		if slices.Contains(row.parts, "*") || slices.Contains(row.parts, "") {
			t.Errorf("%s is shown whole", row.dir)
		}
	}
	for _, want := range []string{"NVM_DIR=" + home + "/.nvm", "RUSTUP_HOME=" + home + "/.rustup"} {
		if !slices.Contains(s.Env, want) {
			t.Errorf("environment %q", s.Env)
		}
	}
}

// Guards against links from a row, or from a program, to the whole home.
func TestToolchainsThatAreLinks(t *testing.T) {
	home := t.TempDir()
	lay(t, home, "bin/deploy", "else/where/toolchains/stable/rustc")
	for link, target := range map[string]string{".rustup": home + "/else/where", ".nvm": home, ".deno": ".",
		"n": "nowhere"} {
		must.Do(t, os.Symlink(target, filepath.Join(home, link)))
	}
	s := Find(home, nil, nil)
	if len(s.Mounts) != 1 || s.Mounts[0].Path != home+"/.rustup/toolchains" {
		t.Errorf("shown: %+v", s.Mounts)
	}
}

// Guards against a link among versions that opens another part of the home.
func TestVersionsThatAreLinks(t *testing.T) {
	home, system := t.TempDir(), t.TempDir()
	lay(t, home, ".ssh/bin/key", ".pyenv/versions/3.13/bin/python", "alias/private")
	lay(t, system, "bin/python")
	for link, target := range map[string]string{
		".pyenv/versions/evil": home + "/.ssh", ".pyenv/versions/3": "3.13", ".pyenv/versions/system": system, ".nvm": home,
	} {
		must.Do(t, os.Symlink(target, filepath.Join(home, link)))
	}
	var got []string
	for _, m := range Find(home, nil, nil).Mounts {
		got = append(got, strings.TrimPrefix(m.Path, home+"/.pyenv/versions/"))
	}
	slices.Sort(got)
	if want := []string{"3.13/bin", "3/bin", "system/bin"}; !slices.Equal(got, want) {
		t.Errorf("shown: %q, want %q", got, want)
	}
}

// Guards against a directory on PATH that shows more than its programs: the home, a place of logins, what holds one,
// the tree around a file that a link leads to.
func TestOpenShowsDirectoriesOfPrograms(t *testing.T) {
	home := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	shown := []string{"bin/deploy", ".local/bin/tool", ".local/share/app/versions/2/app", "dotfiles/bin/x",
		".nvm/versions/node/v22/bin/node", ".local/share/pipx/venvs/black/lib/y.py", ".cargo/bin/mine"}
	hidden := []string{".local/share/app/versions/2/other", ".ssh/id", ".fly/bin/flyctl", ".config/notes", "notes",
		".config/gh/hosts.yml", "dotfiles/secret", ".cargo/credentials.toml", "project/.env", ".bashrc"}
	lay(t, home, slices.Concat(shown, hidden, []string{".local/share/pipx/venvs/black/bin/black"})...)
	for link, target := range map[string]string{
		".local/bin/app": "../share/app/versions/2/app", ".local/bin/evil": "../../.ssh/id", "linked": "dotfiles/bin",
		".local/bin/black": home + "/.local/share/pipx/venvs/black/bin/black", ".local/bin/all": home,
	} {
		must.Do(t, os.Symlink(target, filepath.Join(home, link)))
	}
	var dirs []string
	for _, name := range []string{"", "bin", ".fly/bin", ".config", "linked", ".cargo/bin", "no/such"} {
		dirs = append(dirs, filepath.Join(home, name))
	}
	s := Open(home, append(dirs, "bin", "/usr/bin"), nil)
	for _, file := range shown {
		if !s.sees(filepath.Join(home, file)) {
			t.Errorf("%s is not shown", file)
		}
	}
	for _, file := range hidden {
		if s.sees(filepath.Join(home, file)) {
			t.Errorf("%s is shown", file)
		}
	}
	if s.Links[home+"/linked"] != home+"/dotfiles/bin" {
		t.Errorf("links %q", s.Links)
	}
	for i, m := range s.Mounts {
		if slices.ContainsFunc(s.Mounts[:i], func(o box.Mount) bool { return paths.Within(m.Path, o.Path) }) {
			t.Errorf("%s is shown twice", m.Path)
		}
	}
}

// Guards against a program that silently is not there.
func TestUnseenPrograms(t *testing.T) {
	home := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	lay(t, home, ".fly/bin/flyctl", ".local/bin/venv", ".local/bin/fine", "venvs/t/bin/python", "tools/y/run",
		".aws/helper")
	must.Do(t, os.WriteFile(home+"/.local/bin/venv", []byte("#!"+home+"/venvs/t/bin/python -I\n"), 0o755))
	must.Do(t, os.Symlink(home+"/venvs/t/bin/python", home+"/.local/bin/py"))
	must.Do(t, os.Mkdir(home+"/links", 0o755))
	must.Do(t, os.Symlink(home+"/.aws/helper", home+"/links/helper"))
	dirs := []string{home + "/.local/bin", home + "/.fly/bin", home + "/links", "/usr/bin"}
	got := Open(home, dirs, nil).Unseen(dirs)
	want := map[string][]string{home + "/.fly/bin/flyctl": {"flyctl"}, home + "/.aws/helper": {"helper"}}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
	must.Do(t, os.Remove(home+"/.local/bin/py"))
	want[home+"/venvs/t"] = []string{"venv"}
	if got := Open(home, dirs, nil).Unseen(dirs); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Guards against variables in mise's settings, which may be keys.
func TestVersionsAlone(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{".tool-versions": "nodejs 22\n",
		".config/go/env": "GOPROXY=https://u:secret@host\nGOFLAGS=-mod=mod\n",
		".config/mise/config.toml": "[env]\nKEY = 'secret'\n[tools]\nnode = '22'\npython = ['3.13', '3.12']\n" +
			"[settings]\ngithub.token = 'secret'\n"} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o644))
	}
	for _, f := range versions(home) {
		want := map[string]string{".tool-versions": "nodejs 22\n", ".config/go/env": "GOFLAGS=-mod=mod\n",
			".config/mise/config.toml": "[tools]\nnode = \"22\"\npython = [\"3.13\", \"3.12\"]\n"}[f.Path]
		if string(f.Data) != want {
			t.Errorf("%s: %q, want %q", f.Path, f.Data, want)
		}
	}
	must.Do(t, os.WriteFile(home+"/.config/mise/config.toml", []byte("[env\nsecret"), 0o644))
	if files := versions(home); len(files) != 2 {
		t.Errorf("%+v", files)
	}
}
