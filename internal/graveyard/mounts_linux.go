package graveyard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/paths"
)

// noMounts refuses a directory in which something is mounted: what is removed later must be its own.
func noMounts(dir string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return err
	}
	real = filepath.Join(real, filepath.Base(dir))
	space := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		if at := space.Replace(f[4]); paths.Within(at, real) {
			return fmt.Errorf("something is mounted at %s: unmount it first, with `umount '%s'`", at, at)
		}
	}
	return nil
}
