package app

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/lima"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/guest"
)

func limaDriver(a *App, _ parts) box.Driver {
	return lima.New(lima.Options{
		Home: a.Home, Root: os.Getuid() == 0, Getenv: a.Env, Parts: machineParts, Version: guest.Version,
		Names: guest.Parts(),
	})
}

// Template is what a lima box of that name would be made from.
func (a *App) Template(name string, c config.Box) (string, error) {
	spec, err := a.Spec("lima", c)
	if err != nil {
		return "", err
	}
	boxes := a.records()
	return lima.Template(&box.Box{Name: name, Spec: spec, Exchange: boxes.Exchange()})
}

// machineParts finds cco's programs for Linux of an architecture: beside cco, or in a directory beside it where cco
// itself is for another system.
func machineParts(arch string) (string, error) {
	_, self, err := Beside("cco-box")
	if err != nil {
		return "", err
	}
	own := filepath.Dir(self)
	dirs := []string{filepath.Join(own, "cco-linux-"+arch), filepath.Join(filepath.Dir(own), "lib", "cco-linux-"+arch)}
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		dirs = append([]string{own}, dirs...)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, guest.Parts()[0])); err == nil {
			return dir, nil
		}
	}
	return "", &box.Unavailable{
		What: "cco in a virtual machine", Why: "cco's programs for linux/" + arch + " are not beside cco, in " + dirs[0],
		Mend: "install cco from a release archive, with all that is in it",
	}
}
