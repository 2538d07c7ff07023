package guard

import (
	"errors"
	"path"
	"slices"

	"github.com/cco-dev/cco/internal/guard/jsontext"
)

// Policy says where an agent may work. It is made at run time from the place
// that the agent runs in; nothing in this package knows a path of its own.
type Policy struct {
	// Workspace is the directory that the agent owns.
	Workspace string `json:"workspace"`
	// Host is the repository that cco was started in. It may contain the
	// workspace, and is looked at before the scratch roots.
	Host string `json:"host,omitempty"`
	// Home is what the agent's HOME holds.
	Home string `json:"home,omitempty"`
	// GitDir is the git directory of the workspace.
	GitDir string `json:"git_dir,omitempty"`
	// Branch is the agent's own branch.
	Branch string `json:"branch,omitempty"`
	// Scratch and Caches are roots outside the workspace that may be written. A strict policy has no Scratch.
	Scratch []string `json:"scratch,omitempty"`
	Caches  []string `json:"caches,omitempty"`
	// Protected are files and directories that nobody may change: guard settings, the guard's binary, this policy. The
	// settings of the known agents in the workspace and in Home need not be listed.
	Protected []string `json:"protected,omitempty"`
	// Tools are further tools that the agent may call, by name: those of its
	// MCP servers. A tool that nobody named is denied.
	Tools []string `json:"tools,omitempty"`
	// AuditSocket is where denials are reported.
	AuditSocket string `json:"audit_socket,omitempty"`
	// AuditLog is the file that denials are written to where nobody listens.
	AuditLog string `json:"audit_log,omitempty"`
}

// ParsePolicy reads a policy as it stands in a box. What it does not know is
// an error, since a misspelt key could open what its author meant to close.
func ParsePolicy(data []byte) (Policy, error) {
	v, err := jsontext.Parse(string(data))
	if err != nil {
		return Policy{}, err
	}
	if !v.Object() {
		return Policy{}, errors.New("policy is not an object")
	}
	var p Policy
	for _, f := range v.Items {
		if err := p.set(f); err != nil {
			return Policy{}, err
		}
	}
	return p, p.Validate()
}

// set fills in the field that has this name in JSON.
func (p *Policy) set(f jsontext.Field) error {
	for _, known := range [...]struct {
		name string
		to   any
	}{{"workspace", &p.Workspace}, {"host", &p.Host}, {"home", &p.Home}, {"git_dir", &p.GitDir}, {"branch", &p.Branch},
		{"scratch", &p.Scratch}, {"caches", &p.Caches}, {"protected", &p.Protected}, {"tools", &p.Tools},
		{"audit_socket", &p.AuditSocket}, {"audit_log", &p.AuditLog}} {
		if known.name == f.Name {
			if !fill(known.to, f.Value) {
				return errors.New("policy field " + f.Name + " holds a value of another kind")
			}
			return nil
		}
	}
	return errors.New("policy has an unknown field " + f.Name)
}

// fill puts a value where it belongs; ok is false if it is of another kind.
func fill(to any, v jsontext.Value) (ok bool) {
	switch to := to.(type) {
	case *string:
		*to, ok = v.Text()
	case *[]string:
		*to, ok = v.Texts()
	}
	return ok
}

// Validate reports what would make verdicts under p meaningless.
func (p Policy) Validate() error {
	if p.Workspace == "" {
		return errors.New("policy has no workspace")
	}
	single := []string{p.Workspace, p.Host, p.Home, p.GitDir}
	for _, name := range slices.Concat(single, p.Scratch, p.Caches, p.Protected) {
		if name != "" && !path.IsAbs(name) {
			return errors.New("policy path " + name + " is not absolute")
		}
	}
	if path.Clean(p.Workspace) == "/" {
		return errors.New("policy makes the whole file system the workspace")
	}
	return nil
}

// Linked says that the workspace's .git leads elsewhere, as a linked worktree's does.
func (p Policy) Linked() bool { return p.GitDir != "" && p.GitDir != path.Join(p.Workspace, ".git") }

// CacheRoots names the directories below home in which build tools keep what they can fetch or build again.
func CacheRoots(home string) []string {
	names := []string{
		".cache", "go", ".npm", ".cargo", ".rustup", ".gradle", ".m2", ".ivy2", ".sbt", ".nuget",
		".bun/install", ".deno", ".pnpm-store", ".local/share/pnpm", ".yarn", ".yarn-cache", ".gem", ".bundle",
		".ccache", ".sccache", ".node-gyp", ".pub-cache", ".hex", ".mix", ".stack", ".cabal", ".opam",
		".julia", ".conda/pkgs", ".local/share/virtualenvs", ".local/share/uv", ".terraform.d/plugin-cache",
		".electron", ".electron-gyp", ".cypress", ".android/cache", ".konan", ".dart", ".nx", ".turbo",
		".pyenv/versions", ".nvm/versions", ".local/state/fnm_multishells", "Library/Caches",
	}
	for i, name := range names {
		names[i] = path.Join(home, name)
	}
	return names
}
