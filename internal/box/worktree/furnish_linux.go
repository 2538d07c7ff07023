package worktree

import (
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/proc"
)

// furnish decides what differs from the host's root: what is hidden, what is still shown, what can be written.
func (d *Driver) furnish(v *view, b *box.Box, e box.Exec, at site) {
	v.scratch(at.own)
	v.daemons()
	v.secrets()
	for _, name := range d.opts.KeyFiles {
		v.hide(name)
	}
	if v.data != "/" && !paths.Within(at.home, v.data) {
		v.hide(v.data)
	}
	v.hide(b.Dir)
	v.hide(b.Exchange)
	// These may be below a hidden directory, or below a cache.
	for _, name := range append(filepath.SplitList(d.opts.Path), at.home) {
		if filepath.IsAbs(name) && hiddenTop(name) {
			v.show(name, false)
		}
	}
	for _, name := range []string{at.repo.Top, at.repo.CommonDir, layout{b.Dir}.bin(), d.opts.Tool, d.opts.Guard} {
		if name != "" {
			v.show(name, false)
		}
	}
	d.caches(v, b, at)
	for _, m := range b.Spec.Mounts {
		v.show(m.Path, m.Write)
	}
	for _, m := range e.Binds {
		v.show(m.Path, false)
	}
	if !e.Own || e.Furnish {
		v.show(at.own.home(), true)
	}
	if e.Session != "" {
		v.show(filepath.Join(b.Exchange, e.Session), true)
	}
	if at.workspace != "" {
		v.show(at.workspace, !e.ReadOnly)
		v.show(filepath.Join(at.workspace, ".git"), false)
	}
}

// hiddenTop says whether a path is in a directory that is made new.
func hiddenTop(name string) bool {
	name, ok := real(name)
	return ok && (paths.Within(name, "/tmp") || paths.Within(name, "/var/tmp") || paths.Within(name, "/run"))
}

// scratch gives the program a /tmp and /var/tmp of its session's own, on disk because builds need room.
func (v *view) scratch(o own) {
	v.mounts = append(v.mounts, jail.Mount{Source: o.tmp(), Target: "/tmp", Write: true})
	if st, err := os.Lstat("/var/tmp"); err == nil && st.IsDir() {
		v.mounts = append(v.mounts, jail.Mount{Source: o.varTmp(), Target: "/var/tmp", Write: true})
	}
}

// daemons shows the few parts of /run that programs need to resolve names and to find other programs.
func (v *view) daemons() {
	for _, name := range []string{"/run/systemd/resolve", "/run/resolvconf", "/run/current-system", "/run/opengl-driver"} {
		v.show(name, false)
	}
	if conf, ok := real("/etc/resolv.conf"); ok && paths.Within(conf, "/run") {
		v.show(conf, false)
	}
}

// secrets hides well-known stores of keys. A user who wants an agent to have one can mount it.
func (v *view) secrets() {
	for _, name := range []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".vault-token", ".netrc",
		".git-credentials", ".pypirc",
		".config/gh", ".config/hub", ".config/gcloud", ".config/op", ".config/git/credentials", ".config/sops",
		".config/rclone",
		".cargo/credentials.toml", ".cargo/credentials", ".gem/credentials", ".m2/settings-security.xml",
		".terraform.d/credentials.tfrc.json",
		".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
	} {
		v.hide(filepath.Join(v.home, name))
	}
}

// narrow names the parts of a directory below home that are really a cache, if programs or settings stand beside them:
// those would be used outside of the box. A directory that is not listed is a cache as a whole.
func narrow() map[string][]string {
	return map[string][]string{
		"go":                           {"go/pkg"},
		".cargo":                       {".cargo/registry", ".cargo/git"},
		".gradle":                      {".gradle/caches", ".gradle/wrapper", ".gradle/daemon", ".gradle/native"},
		".m2":                          {".m2/repository"},
		".ivy2":                        {".ivy2/cache"},
		".sbt":                         {".sbt/boot"},
		".nuget":                       {".nuget/packages"},
		".bun/install":                 {".bun/install/cache"},
		".yarn":                        {".yarn/berry"},
		".cabal":                       {".cabal/packages"},
		".stack":                       {".stack/snapshots"},
		".bundle":                      {".bundle/cache"},
		".pub-cache":                   {".pub-cache/hosted"},
		".deno":                        {".deno/deps"},
		".julia":                       {".julia/compiled", ".julia/packages"},
		".rustup":                      nil,
		".gem":                         nil,
		".opam":                        nil,
		".local/share/pnpm":            {".local/share/pnpm/store"},
		".local/share/uv":              nil,
		".local/share/virtualenvs":     nil,
		".pyenv/versions":              nil,
		".nvm/versions":                nil,
		".mix":                         nil,
		".terraform.d/plugin-cache":    nil,
		".local/state/fnm_multishells": nil,
	}
}

// makers are the programs that make a cache when they first run. If one is installed we make its cache for it, because
// it can't write to the home here.
func makers() map[string]string {
	return map[string]string{
		".cache": "sh", ".npm": "npm", "go/pkg": "go", ".cargo/registry": "cargo", ".cargo/git": "cargo",
		".m2/repository": "mvn",
		".gradle/caches": "gradle", ".nuget/packages": "dotnet",
	}
}

// caches lets the program write to tools' caches. It leaves out a cache that holds files of the repository or of cco.
func (d *Driver) caches(v *view, b *box.Box, at site) {
	narrowed := narrow()
	for _, root := range d.opts.Caches {
		rel, err := filepath.Rel(at.home, root)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		parts, known := narrowed[rel]
		if !known {
			parts = []string{rel}
		}
		for _, part := range parts {
			dir := filepath.Join(at.home, part)
			if tool := makers()[part]; tool != "" {
				if _, err := proc.LookPath(tool); err == nil {
					_ = os.MkdirAll(dir, 0o755) // if this fails, the tool reports it
				}
			}
			if name, ok := real(dir); ok && isDir(name) && !holdsAny(name, b.Dir, b.Exchange, at.repo.Top,
				at.repo.CommonDir, at.home) {
				v.show(name, true)
			}
		}
	}
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

func holdsAny(dir string, names ...string) bool {
	for _, name := range names {
		if name, ok := real(name); ok && paths.Within(name, dir) {
			return true
		}
	}
	return false
}
