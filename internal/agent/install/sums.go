package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/whole"
)

// sumsFile holds npm's integrity sums of all packages that were ever installed for an agent: a version that is fetched
// again, for another platform or after it was removed, must be the same.
const sumsFile = "integrity.json"

// ChangedError says that the registry has other content for a version than it had.
type ChangedError struct{ Package, Was, Is, File string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s is not what it was when it was installed first: its sum is %s and was %s. A version never "+
		"changes: find out why before you remove that line from %s", e.Package, e.Is, e.Was, e.File)
}

// checkSums compares what npm has installed with what is known, and keeps what is new.
func checkSums(dir, file string, pkg roster.Package) error {
	data, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("npm wrote no sums: %w", err)
	}
	var lock struct {
		Packages map[string]struct {
			Name      string `json:"name"` // of one that is installed as another
			Version   string `json:"version"`
			Integrity string `json:"integrity"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return fmt.Errorf("package-lock.json: %w", err)
	}
	known := map[string]string{}
	data, err = os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, place := range slices.Sorted(maps.Keys(lock.Packages)) {
		p := lock.Packages[place]
		name := p.Name
		if i := strings.LastIndex(place, "node_modules/"); name == "" && i >= 0 {
			name = place[i+len("node_modules/"):]
		}
		if p.Integrity == "" || name == "" {
			continue // bundled in another, whose sum it is part of
		}
		id := name + "@" + p.Version
		if was := known[id]; was != "" && was != p.Integrity {
			return &ChangedError{id, was, p.Integrity, file}
		}
		known[id] = p.Integrity
	}
	for _, name := range append([]string{pkg.Name}, names(pkg.With)...) {
		if lock.Packages["node_modules/"+name].Integrity == "" {
			return fmt.Errorf("npm has no integrity sum for %s", name)
		}
	}
	if data, err = json.MarshalIndent(known, "", "  "); err != nil {
		return err
	}
	return whole.Replace(file, append(data, '\n'), 0o600)
}

func names(pins []roster.Pin) (list []string) {
	for _, p := range pins {
		list = append(list, p.Name)
	}
	return list
}
