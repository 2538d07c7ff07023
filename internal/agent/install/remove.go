package install

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/agent"
)

// Versions are all that cco has installed of an agent for a platform, the newest first.
func Versions(data string, a agent.Adapter, at Platform) (list []Program) {
	dir := Dir(data, a.Name(), at)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if p, err := read(filepath.Join(dir, e.Name())); err == nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Program) int { return Compare(b.Version, a.Version) })
	return list
}

// Platforms are those for which cco has installed something of an agent.
func Platforms(data string, a agent.Adapter) (list []Platform) {
	for _, goos := range []string{"linux", "darwin"} {
		for _, arch := range []string{"amd64", "arm64"} {
			if at := (Platform{goos, arch}); len(Versions(data, a, at)) > 0 {
				list = append(list, at)
			}
		}
	}
	return list
}

// Remove removes installed programs. Each is out of sight before anything of it goes.
func Remove(list ...Program) error {
	var errs []error
	for _, p := range list {
		gone, err := os.MkdirTemp(filepath.Dir(p.Dir), halfPrefix)
		if err == nil {
			err = os.Rename(p.Dir, filepath.Join(gone, "removed"))
		}
		errs = append(errs, err, os.RemoveAll(gone))
	}
	return errors.Join(errs...)
}
