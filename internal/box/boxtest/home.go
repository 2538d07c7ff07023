package boxtest

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Home is a home as users have it, with toolchains and much else.
type Home struct {
	Dir, Path string
	Hidden    []string          // files that nobody has asked to show
	Starts    map[string]string // commands, and what they print
}

// places are files of a home that hold keys, sessions, or what was typed and said, and that are on no list of logins.
func places() []string {
	return strings.Fields(`snap/firefox/common/.mozilla/firefox/p/key4.db snap/chromium/common/chromium/Default/Cookies
		.config/Code/User/globalStorage/state.vscdb .config/Cursor/User/globalStorage/state.vscdb .vscode/argv.json
		.vscode-server/data/Machine/settings.json .cursor-server/data/token .config/JetBrains/GoLand/options/security.xml
		.config/zed/settings.json .config/sublime-text/Local/License.sublime_license .bashrc .bash_profile .profile .zshrc
		.zshenv .zprofile .config/fish/config.fish .config/environment.d/10-keys.conf .pam_environment .xsessionrc .inputrc
		.bash_history .zsh_history .local/state/zsh/history .config/nix/nix.conf .jupyter/jupyter_server_config.json
		.local/share/jupyter/runtime/jpserver-1.json .android/adbkey .android/debug.keystore .config/systemd/user/x.service
		.config/autostart/x.desktop .emacs.d/.authinfo .vim/bundle/x .config/nvim/init.lua .local/share/nvim/shada/main.shada
		.config/libreoffice/4/user/registrymodifications.xcu .local/share/evolution/mail/x .config/obsidian/obsidian.json
		.local/share/Trash/files/x .cache/thumbnails/x .cache/mozilla/firefox/p/cache2/x .config/transmission/settings.json
		.local/share/applications/x.desktop .wine/user.reg Documents/taxes.pdf Downloads/key.pem project/.env .env`)
}

// lines are scripts that do what the programs of version managers do, with the home in the place of HOME.
func lines() map[string]string {
	shim := func(manager string) string {
		root := strings.ToUpper(manager) + "_ROOT"
		return "#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\nexport " + root + "=\"{HOME}/." + manager + "\"\n" +
			"exec \"{HOME}/." + manager + "/libexec/" + manager + "\" exec \"$program\" \"$@\"\n"
	}
	exec := func(manager string) string {
		root := "$" + strings.ToUpper(manager) + "_ROOT"
		return "#!/usr/bin/env bash\nread -r version < " + root + "/version\nexec " + root + "/versions/$version/bin/$2\n"
	}
	const (
		says = "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/../lib/word\"\n"
		asdf = "#!/usr/bin/env bash\ndir=$PWD; until [ -z \"$dir\" ] || [ -e \"$dir/.tool-versions\" ]; do dir=${dir%/*}; " +
			"done\nread -r tool version < \"${dir:-$HOME}/.tool-versions\"\n" +
			"exec \"${ASDF_DATA_DIR:-$HOME/.asdf}/installs/$tool/$version/bin/$2\"\n"
		mise = "#!/usr/bin/env bash\nname=${0##*/}\nversion=$(sed -n \"s/^$name = .\\(.*\\).$/\\1/p\" " +
			"\"${MISE_GLOBAL_CONFIG_FILE:-$HOME/.config/mise/config.toml}\")\n" +
			"exec \"${MISE_DATA_DIR:-$HOME/.local/share/mise}/installs/$name/$version/bin/$name\"\n"
		rustup = "#!/usr/bin/env bash\nroot=${RUSTUP_HOME:-$HOME/.rustup}\n" +
			"mkdir -p \"$root/update-hashes\" || exit 1\nexec \"$root/toolchains/" +
			"$(sed -n 's/default_toolchain = \"\\(.*\\)\"/\\1/p' \"$root/settings.toml\")/bin/${0##*/}\"\n"
	)
	return map[string]string{
		".nvm/versions/node/v22.1.0/bin/node": says, ".nvm/versions/node/v22.1.0/lib/word": "node\n",
		".nvm/versions/node/v22.1.0/lib/node_modules/npm/bin/npm-cli.js": "#!/usr/bin/env node\n",
		".pyenv/shims/python": shim("pyenv"), ".pyenv/libexec/pyenv": exec("pyenv"), ".pyenv/version": "3.13.0\n",
		".pyenv/versions/3.13.0/bin/python": says, ".pyenv/versions/3.13.0/lib/word": "python\n",
		".rbenv/shims/ruby": shim("rbenv"), ".rbenv/libexec/rbenv": exec("rbenv"), ".rbenv/version": "3.4.1\n",
		".rbenv/versions/3.4.1/bin/ruby": says, ".rbenv/versions/3.4.1/lib/word": "ruby\n",
		".asdf/shims/elixir": "#!/usr/bin/env bash\nexec asdf exec \"elixir\" \"$@\"\n", ".local/bin/asdf": asdf,
		".tool-versions": "elixir 1.18\n", ".asdf/installs/elixir/1.18/bin/elixir": says,
		".asdf/installs/elixir/1.18/lib/word":                    "elixir\n",
		".local/bin/mise":                                        mise,
		".config/mise/config.toml":                               "[env]\nTOKEN = 'secret'\n[tools]\nterraform = '1.9'\n",
		".local/share/mise/installs/terraform/1.9/bin/terraform": says,
		".local/share/mise/installs/terraform/1.9/lib/word":      "terraform\n",
		".cargo/bin/rustup":                                      rustup,
		".rustup/settings.toml":                                  "default_toolchain = \"stable\"\n",
		".rustup/update-hashes/stable":                           "x\n",
		".rustup/toolchains/stable/bin/cargo":                    says, ".rustup/toolchains/stable/lib/word": "cargo\n",
		"sdk/go1.25.0/bin/go": says, "sdk/go1.25.0/lib/word": "go\n",
		".local/bin/uv":                                        "#!/bin/sh\necho uv\n",
		".local/share/uv/tools/ruff/bin/ruff":                  "#!{HOME}/.local/share/uv/tools/ruff/bin/python\n",
		".local/share/uv/python/cpython-3.13.0/bin/python3.13": says,
		".local/share/uv/python/cpython-3.13.0/lib/word":       "ruff\n",
		".npm-global/lib/node_modules/tool/cli.js":             "#!/bin/sh\necho tool\n",
		"bin/mine": "#!/bin/sh\necho mine\n",
	}
}

// links are what version managers link.
func links() map[string]string {
	return map[string]string{
		".nvm/versions/node/v22.1.0/bin/npm":    "../lib/node_modules/npm/bin/npm-cli.js",
		".cargo/bin/cargo":                      "rustup",
		".local/share/mise/shims/terraform":     "{HOME}/.local/bin/mise",
		".local/bin/ruff":                       "{HOME}/.local/share/uv/tools/ruff/bin/ruff",
		".local/share/uv/tools/ruff/bin/python": "{HOME}/.local/share/uv/python/cpython-3.13.0/bin/python3.13",
		".npm-global/bin/tool":                  "../lib/node_modules/tool/cli.js",
	}
}

// LayHome lays out a home. What is hidden in it can be read by everybody, so that only hiding helps.
func LayHome(t *testing.T, dir string) Home {
	t.Helper()
	h := Home{Dir: dir, Starts: map[string]string{"ruff": "ruff", "uv": "uv", "mine": "mine", "tool": "tool"}}
	for _, name := range []string{"node", "npm", "python", "ruby", "elixir", "terraform", "cargo", "go"} {
		h.Starts[name] = name
	}
	h.Starts["npm"] = "node" // which runs it
	fill := strings.NewReplacer("{HOME}", dir)
	lay := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(fill.Replace(text)), mode))
		return name
	}
	for name, text := range lines() {
		lay(name, text, 0o755)
	}
	for name, target := range links() {
		name = filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.Symlink(fill.Replace(target), name))
	}
	for _, name := range places() {
		h.Hidden = append(h.Hidden, lay(name, "secret\n", 0o644))
	}
	tops := strings.Fields(`. .config .local .local/share .cache go .cargo .npm .gradle .m2 .nvm .pyenv .asdf
		Documents src`)
	for n := range 200 {
		name := tops[n%len(tops)]
		for range 1 + n%4 {
			name += "/" + strings.Repeat(".", n%2) + rand.Text()[:8]
		}
		h.Hidden = append(h.Hidden, lay(name, "secret\n", 0o644))
	}
	for _, name := range strings.Fields(`.nvm/versions/node/v22.1.0/bin .pyenv/shims .rbenv/shims .asdf/shims
		.local/share/mise/shims .cargo/bin sdk/go1.25.0/bin .local/bin bin .npm-global/bin .`) {
		h.Path += filepath.Join(dir, name) + ":"
	}
	h.Path += os.Getenv("PATH")
	return h
}

// Shells are the ways in which agents start commands: what comes last is the command.
func Shells() [][]string { return [][]string{{"bash", "-lc"}, {"zsh", "-lc"}, {"sh", "-c"}} }
