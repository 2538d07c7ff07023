package host

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"github.com/cco-dev/cco/internal/box"
)

// maxVersions bounds a file that says which versions of programs the user wants.
const maxVersions = 64 << 10

// versions are the files below a home by which the shims of version managers find what to start, and Go its modules,
// without what else may stand in them.
func versions(home string) (files []box.File) {
	for name, clean := range map[string]func([]byte) ([]byte, error){
		".tool-versions":           func(data []byte) ([]byte, error) { return data, nil },
		".config/mise/config.toml": toolsAlone, // it may set variables, to keys as well
		".config/go/env":           withoutLogins,
	} {
		at := filepath.Join(home, name)
		if st, err := os.Stat(at); err != nil || !st.Mode().IsRegular() || st.Size() > maxVersions {
			continue
		}
		data, err := os.ReadFile(at)
		if err == nil {
			data, err = clean(data)
		}
		if err == nil {
			files = append(files, box.File{Path: name, Data: data, Mode: 0o444})
		}
	}
	return files
}

// withoutLogins leaves the lines without an address that may have a password in it.
func withoutLogins(data []byte) (kept []byte, err error) {
	for line := range bytes.Lines(data) {
		if !bytes.ContainsRune(line, '@') {
			kept = append(kept, line...)
		}
	}
	return kept, nil
}

// toolsAlone leaves the versions of tools in mise's settings.
func toolsAlone(data []byte) ([]byte, error) {
	var all struct {
		Tools map[string]any `toml:"tools"`
	}
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	to := toml.NewEncoder(&out)
	to.Indent = ""
	err := to.Encode(all)
	return out.Bytes(), err
}
