package settings

import (
	"encoding/json"
	"os"

	"github.com/cco-dev/cco/internal/guard"
)

// PolicyPath is where the hook looks for its policy inside a box.
const PolicyPath = "/etc/cco/policy.json"

// File is a file for the inside of a box, at an absolute path.
type File struct {
	Path string
	Data []byte
	Mode os.FileMode
}

// Managed is what stands in /etc of a box so that no agent in it can switch the guard off: neither a repository's
// settings nor the agent's own can overrule these, and no hook but the guard's runs, since a hook may rewrite a call
// after the guard has seen it.
func Managed(adapters []Adapter, h Hook) (files []File) {
	for _, a := range adapters {
		files = append(files, a.managed(h)...)
	}
	return files
}

// PolicyFile is a policy as the hook reads it inside a box.
func PolicyFile(p guard.Policy) (File, error) {
	if err := p.Validate(); err != nil {
		return File{}, err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	return File{PolicyPath, append(data, '\n'), 0o644}, err
}
