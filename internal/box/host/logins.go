// Package host knows what boxes show of this machine and what they hide: toolchains and programs of the user's, the
// sockets that its processes have bound, logins and stores of keys.
package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// logins are the directories below a home that hold logins, keys or the sessions of browsers, and such files in
// directories that hold other things as well. Files in the home itself need no row.
func logins() []string {
	return slices.Concat(roster.Private(), strings.Fields(`
		.age .ansible/vault_password .aws .azure .bitcoin .bluemix .bundle/config .cache/huggingface/stored_tokens
		.cache/huggingface/token .cargo/credentials .cargo/credentials.toml .cloudflared .composer/auth.json
		.config/.wrangler .config/1Password .config/aerc .config/age .config/argocd .config/Bitwarden .config/borg
		.config/BraveSoftware .config/chromium .config/cloudflared .config/composer/auth.json .config/configstore
		.config/containers .config/coursier .config/discord .config/doctl .config/evolution .config/filezilla
		.config/flyctl .config/gcloud .config/gh .config/git/credentials .config/gitlab .config/glab-cli .config/goa-1.0
		.config/google-chrome .config/hcloud .config/helm/registry .config/heroku .config/hub .config/kaggle
		.config/keepassxc .config/KeePassXC .config/keybase .config/lftp .config/linode-cli .config/microsoft-edge
		.config/netlify .config/ngrok .config/nushell/history.sqlite3 .config/nushell/history.txt .config/op .config/pip
		.config/pnpm/rc .config/pypoetry/auth.toml .config/rails .config/rclone .config/remmina .config/scw
		.config/Signal .config/Slack .config/snowflake .config/solana .config/sops .config/stripe .config/syncthing
		.config/tea .config/uv/credentials.toml .config/uv/uv.toml .config/vivaldi .config/weechat .config/wrangler
		.dbt/profiles.yml .docker .electrum .ethereum .fly .gem/credentials .gnupg .gradle/gradle.properties
		.hex/hex.config .huggingface .ivy2/.credentials .jfrog .kaggle .keychain .kube .local/share/atuin
		.local/share/com.vercel.cli .local/share/fish/fish_history .local/share/gem .local/share/heroku
		.local/share/keyrings .local/share/kwalletd .local/share/mkcert .local/share/powershell
		.local/share/TelegramDesktop .local/share/uv/credentials .local/state/bash .m2/settings-security.xml
		.m2/settings.xml .mc .minikube .mozilla .mutt .netlify .ngrok2 .nuget/NuGet/NuGet.Config .oci .password-store
		.pip/pip.conf .pki .pulumi/credentials.json .purple .sbt/.credentials .sbt/credentials .snowflake .snowsql .ssh
		.step .subversion/auth .talos .terraform.d/credentials.tfrc.json .thunderbird .var/app .vercel .wrangler
		Library/Cookies Library/Keychains`),
		[]string{".config/Bitwarden CLI", "Library/Application Support/Claude"})
}

// open are the files in a home itself that hold no login.
func open() []string { return []string{".gitconfig", ".tool-versions"} }

// Logins are the logins and stores of keys below a home that exist, and more of them by their paths: places that are
// known, and the files in the home itself. All are real paths. What the user has mounted by name was asked for, and is
// left out.
func Logins(home string, mounts []box.Mount, more ...string) []string {
	resolved := rooms.Resolver{}
	names := slices.Concat(more, each(home, logins()), filesIn(home, resolved))
	var list []string
	for _, name := range names {
		real, _, err := resolved.Real(name)
		asked := slices.ContainsFunc(mounts, func(m box.Mount) bool {
			return filepath.Clean(m.Path) == name || filepath.Clean(m.Path) == real
		})
		if err == nil && !asked && !slices.Contains(list, real) {
			list = append(list, real)
		}
	}
	return list
}

// filesIn are the files in a home itself, also where they are links to files elsewhere in it.
func filesIn(home string, resolved rooms.Resolver) (names []string) {
	top, err := filepath.EvalSymlinks(home)
	entries, _ := os.ReadDir(home) // what nobody can list needs no hiding
	for _, e := range entries {
		name := filepath.Join(home, e.Name())
		if err != nil || e.IsDir() || slices.Contains(open(), e.Name()) {
			continue
		}
		if real, st, err := resolved.Real(name); err == nil && st.Mode().IsRegular() && paths.Within(real, top) {
			names = append(names, name)
		}
	}
	return names
}

// Cover is a mount that empties a directory or a file.
func Cover(target string, st fs.FileInfo) jail.Mount {
	if st.IsDir() {
		return jail.Mount{Target: target, Empty: true}
	}
	return jail.Mount{Source: os.DevNull, Target: target, File: true, Device: true}
}
