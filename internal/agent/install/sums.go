package install

import (
	"cmp"
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

// checkSums compares what npm has installed with what is known, and keeps what is new.
func checkSums(dir, file string, pkg roster.Package) error {
	var lock struct {
		Packages map[string]struct{ Name, Version, Integrity string } // Name is of one that is installed as another
	}
	if err := decode(filepath.Join(dir, "package-lock.json"), &lock); err != nil {
		return fmt.Errorf("npm wrote no sums: %w", err)
	}
	known := map[string]string{}
	if err := decode(file, &known); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, place := range slices.Sorted(maps.Keys(lock.Packages)) {
		p := lock.Packages[place]
		if p.Integrity == "" {
			continue // bundled in another, whose sum it is part of
		}
		names := strings.Split(place, "node_modules/")
		id := cmp.Or(p.Name, names[len(names)-1]) + "@" + p.Version
		if was := known[id]; was != "" && was != p.Integrity {
			return fmt.Errorf("%s is not what it was when it was installed first: its sum is %s and was %s. A version "+
				"never changes: find out why before you remove that line from %s", id, p.Integrity, was, file)
		}
		known[id] = p.Integrity
	}
	for _, p := range append([]roster.Pin{{Name: pkg.Name}}, pkg.With...) {
		if lock.Packages["node_modules/"+p.Name].Integrity == "" {
			return fmt.Errorf("npm has no integrity sum for %s", p.Name)
		}
	}
	data, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	return whole.Replace(file, append(data, '\n'), 0o600)
}

func decode(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
