package land

import (
	"errors"
	"path"

	"github.com/cco-dev/cco/internal/guard/jsontext"
)

// Policy says where an agent may work. It is made at run time from the box
// that the agent runs in; nothing in this package knows a path of its own.
type Policy struct {
	// Workspace is the directory that the agent owns.
	Workspace string `json:"workspace"`
	// Host is the repository that cco was started in. It may contain the
	// workspace, and is looked at before the scratch roots.
	Host string `json:"host,omitempty"`
	// Home is what the agent's HOME holds.
	Home string `json:"home,omitempty"`
	// Linked says that the workspace is a linked worktree of Host, whose
	// refs and configuration are shared, and not a clone of its own.
	Linked bool `json:"linked,omitempty"`
	// GitDir is the git directory of the workspace, and GitCommonDir the one
	// that holds the shared refs. They are equal in a clone.
	GitDir       string `json:"git_dir,omitempty"`
	GitCommonDir string `json:"git_common_dir,omitempty"`
	// Branch is the agent's own branch, the only ref that it may move in a
	// linked worktree.
	Branch string `json:"branch,omitempty"`
	// Scratch and Caches are roots outside the workspace that may be written.
	Scratch []string `json:"scratch,omitempty"`
	Caches  []string `json:"caches,omitempty"`
	// Protected are files and directories that nobody may change: guard
	// settings, the guard's binary, this policy. The settings of the known
	// agents in the workspace and in Home need not be listed.
	Protected []string `json:"protected,omitempty"`
	// Remotes are the configured remotes, name to URL.
	Remotes map[string]string `json:"remotes,omitempty"`
	// Tools are further tools that the agent may call, by name: those of its
	// MCP servers. A tool that nobody named is denied.
	Tools []string `json:"tools,omitempty"`
	// Exchange is what the agent's CCO_EXCHANGE holds, where it has one. What
	// may be written there is for Scratch to say.
	Exchange string `json:"exchange,omitempty"`
	// AuditSocket is where denials are reported.
	AuditSocket string `json:"audit_socket,omitempty"`
	// AuditLog is the file that denials are written to where nobody listens.
	AuditLog string `json:"audit_log,omitempty"`
}

// ParsePolicy reads a policy as it stands in a box. What it does not know is
// an error, since a misspelt key could open what its author meant to close.
func ParsePolicy(data []byte) (Policy, error) {
	var p Policy
	err := jsontext.Object(string(data), func(name, value string) error {
		known, err := p.set(name, value)
		if !known {
			return errors.New("policy has an unknown field " + name)
		}
		if err != nil {
			return errors.New("policy field " + name + ": " + err.Error())
		}
		return nil
	})
	if err != nil {
		return Policy{}, err
	}
	return p, p.Validate()
}

// set fills in the field that has this name in JSON.
func (p *Policy) set(name, value string) (known bool, err error) {
	for _, f := range [...]struct {
		name string
		text *string
	}{{"workspace", &p.Workspace}, {"host", &p.Host}, {"home", &p.Home}, {"git_dir", &p.GitDir},
		{"git_common_dir", &p.GitCommonDir}, {"branch", &p.Branch}, {"exchange", &p.Exchange},
		{"audit_socket", &p.AuditSocket}, {"audit_log", &p.AuditLog}} {
		if f.name == name {
			*f.text, err = jsontext.String(value)
			return true, err
		}
	}
	switch name {
	case "linked":
		p.Linked, err = jsontext.Bool(value)
	case "scratch":
		p.Scratch, err = jsontext.Strings(value)
	case "caches":
		p.Caches, err = jsontext.Strings(value)
	case "protected":
		p.Protected, err = jsontext.Strings(value)
	case "tools":
		p.Tools, err = jsontext.Strings(value)
	case "remotes":
		p.Remotes, err = remotes(value)
	default:
		return false, nil
	}
	return true, err
}

func remotes(text string) (map[string]string, error) {
	if jsontext.Null(text) {
		return nil, nil
	}
	found := map[string]string{}
	return found, jsontext.Object(text, func(name, value string) (err error) {
		found[name], err = jsontext.String(value)
		return err
	})
}

// Validate reports what would make verdicts under p meaningless.
func (p Policy) Validate() error {
	if p.Workspace == "" {
		return errors.New("policy has no workspace")
	}
	single := [...]string{p.Workspace, p.Host, p.Home, p.GitDir, p.GitCommonDir, p.Exchange}
	for _, names := range [...][]string{single[:], p.Scratch, p.Caches, p.Protected} {
		for _, name := range names {
			if name != "" && !path.IsAbs(name) {
				return errors.New("policy path " + name + " is not absolute")
			}
		}
	}
	if path.Clean(p.Workspace) == "/" {
		return errors.New("policy makes the whole file system the workspace")
	}
	return nil
}

// ownSettings are cco's own files in a home.
func ownSettings() []string { return []string{".config/cco", ".local/share/cco"} }
