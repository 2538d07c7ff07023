// Package host knows what boxes show of this machine and what they hide: toolchains and programs of the user's, the
// sockets that its processes have bound, logins and stores of keys.
package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
)

// logins are the files and directories below a home that hold logins, keys or the sessions of browsers. Agents reach
// their models and the allowed hosts through the door, which adds what is needed.
func logins() []string {
	return append(roster.Private(),
		// other agents
		".config/goose", ".aider.conf.yml", ".continue", ".cursor", ".config/cursor", ".copilot", ".config/github-copilot",
		".config/amp", ".local/share/amp", ".factory", ".augment",
		// keys
		".ssh", ".gnupg", ".age", ".config/age", ".config/sops", ".password-store", ".local/share/keyrings", ".pki",
		".local/share/kwalletd", ".config/op", ".config/Bitwarden", ".config/Bitwarden CLI", ".vault-token", ".keychain",
		".config/keybase", ".bitcoin", ".ethereum", ".electrum", ".config/solana",
		// clouds and machines
		".aws", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".oci", ".kube", ".docker", ".config/containers",
		".terraformrc", ".terraform.d/credentials.tfrc.json", ".config/doctl", ".config/hcloud", ".config/scw",
		".config/linode-cli",
		".config/flyctl", ".fly", ".config/heroku", ".local/share/heroku", ".netlify", ".config/netlify", ".vercel",
		".local/share/com.vercel.cli", ".config/configstore", ".config/stripe", ".config/rclone", ".pulumi/credentials.json",
		".config/wrangler", ".wrangler", ".config/cloudflared", ".cloudflared", ".ansible/vault_password",
		".config/ngrok", ".ngrok2", ".bluemix",
		// forges and registries
		".netrc", "_netrc", ".authinfo", ".authinfo.gpg", ".hgrc", ".subversion/auth", ".git-credentials",
		".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli",
		".config/tea", ".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", ".config/pnpm/rc", ".pypirc", ".config/pip",
		".pip/pip.conf", ".config/pypoetry/auth.toml", ".config/uv/uv.toml", ".local/share/uv/credentials",
		".cargo/credentials.toml", ".cargo/credentials", ".gem/credentials", ".bundle/config", ".m2/settings.xml",
		".m2/settings-security.xml", ".gradle/gradle.properties", ".ivy2/.credentials", ".sbt/.credentials",
		".nuget/NuGet/NuGet.Config", ".composer/auth.json", ".config/composer/auth.json", ".hex/hex.config", ".condarc",
		".cache/huggingface/token", ".huggingface", ".kaggle", ".config/helm/registry", ".jfrog",
		// databases and mail
		".pgpass", ".pg_service.conf", ".my.cnf", ".mylogin.cnf", ".config/rails", ".dbt/profiles.yml", ".snowflake",
		".snowsql",
		".databrickscfg", ".config/filezilla", ".lftprc", ".config/lftp",
		".msmtprc", ".mbsyncrc", ".fetchmailrc", ".config/aerc", ".mutt", ".muttrc",
		// more of them
		".gitcookies", ".databricks.cfg", ".sentryclirc", ".vault_pass", ".cache/huggingface/stored_tokens",
		".config/.wrangler", ".config/io.datasette.llm", ".config/crush", ".local/share/crush", ".config/snowflake",
		".config/uv/credentials.toml", ".config/kaggle", ".config/coursier", ".local/share/gem", ".mc", ".step", ".talos",
		".minikube", ".local/share/mkcert", ".config/borg", ".config/weechat", ".purple", ".config/1Password",
		".config/keepassxc", ".config/KeePassXC", ".config/remmina", ".config/evolution", ".config/goa-1.0", ".offlineimaprc",
		".Xauthority", ".ICEauthority", ".erlang.cookie", ".modal.toml", ".smbcredentials", ".passwd-s3fs", ".config/argocd",
		".config/syncthing", ".config/gitlab", ".sbt/credentials", ".pnpmrc", ".gist", ".curlrc", ".wgetrc", ".Renviron",
		".claude.json.backup",
		// what was typed, and browsers
		".sh_history", ".ksh_history", ".history", ".sqlite_history", ".rediscli_history", ".irb_history", ".Rhistory",
		".ghci_history", ".scala_history", ".gdb_history", ".dbshell", ".viminfo", ".lesshst", ".local/share/atuin",
		".local/state/bash", ".config/nushell/history.txt", ".config/nushell/history.sqlite3", ".local/share/powershell",
		".var/app",
		".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history",
		".local/share/fish/fish_history", ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium",
		".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/Slack", ".config/discord",
		".config/Signal", ".local/share/TelegramDesktop",
		// macOS
		"Library/Keychains", "Library/Cookies", "Library/Application Support/Claude",
	)
}

// Logins are the logins and stores of keys below a home that exist, and more of them by their paths. All are real
// paths. What the user has mounted by name was asked for, and is left out.
func Logins(home string, mounts []box.Mount, more ...string) []string {
	names := slices.Clone(more)
	for _, name := range logins() {
		names = append(names, filepath.Join(home, name))
	}
	var list []string
	paths := rooms.Resolver{}
	for _, name := range names {
		real, _, err := paths.Real(name)
		asked := slices.ContainsFunc(mounts, func(m box.Mount) bool {
			return filepath.Clean(m.Path) == name || filepath.Clean(m.Path) == real
		})
		if err == nil && !asked && !slices.Contains(list, real) {
			list = append(list, real)
		}
	}
	return list
}

// Cover is a mount that empties a directory or a file.
func Cover(target string, st fs.FileInfo) jail.Mount {
	if st.IsDir() {
		return jail.Mount{Target: target, Empty: true}
	}
	return jail.Mount{Source: os.DevNull, Target: target, File: true, Device: true}
}
