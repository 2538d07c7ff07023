// Package install finds the programs of agents on the host, and installs them from npm into cco's own directory, from
// where boxes see them read-only.
package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/proc"
)

// Program is an agent's program on the host.
type Program struct {
	Path    string
	Version string // "" if it doesn't say
	// Dir holds all that the program needs, and a box must see it. It is "" for a program of the user's own, which a box
	// sees if it sees its directory.
	Dir string
}

// MissingError says that an agent's program is nowhere.
type MissingError struct {
	Agent  string
	Binary string
	Mend   string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("agent %s: no program %q; install it with `%s`", e.Agent, e.Binary, e.Mend)
}

// OldError says that an agent's program is older than what cco knows how to drive.
type OldError struct {
	Agent, Path, Version, Oldest, Mend string
}

func (e *OldError) Error() string {
	return fmt.Sprintf("agent %s: %s is version %s, and cco needs %s or newer; install it with `%s`", e.Agent, e.Path,
		e.Version, e.Oldest, e.Mend)
}

// record describes an installation. It is written last.
type record struct {
	Package string `json:"package"`
	Version string `json:"version"`
	Program string `json:"program"` // below the installation
}

const recordFile = "cco.json"

// Dir is where the versions of an agent for a platform are installed: each platform has its own.
func Dir(data, name string, at Platform) string {
	return filepath.Join(data, "agents", name, at.OS+"-"+at.Arch)
}

// Find gives the program of an agent: the version that cco is tried with, any newer or still working one that cco has
// installed, or the user's own. An agent that is part of cco has none.
func Find(ctx context.Context, data string, a agent.Adapter) (Program, error) {
	if a.Binary() == "" {
		return Program{}, nil
	}
	if p, ok := Installed(data, a, Host()); ok {
		return p, nil
	}
	mend := agent.Install(a)
	path, err := proc.LookPath(a.Binary())
	if errors.Is(err, proc.ErrNotFound) {
		return Program{}, &MissingError{Agent: a.Name(), Binary: a.Binary(), Mend: mend}
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return Program{}, err
	}
	version := versionOf(ctx, path)
	if version != "" && Compare(version, a.Package().Oldest) < 0 {
		return Program{}, &OldError{Agent: a.Name(), Path: path, Version: version, Oldest: a.Package().Oldest, Mend: mend}
	}
	return Program{Path: path, Version: version}, nil
}

// Installed chooses among the versions that cco has installed for a platform: the pinned one, else the newest that
// works.
func Installed(data string, a agent.Adapter, at Platform) (Program, bool) {
	list := slices.DeleteFunc(Versions(data, a, at), func(p Program) bool {
		return Compare(p.Version, a.Package().Oldest) < 0
	})
	if len(list) == 0 {
		return Program{}, false
	}
	pinned := slices.IndexFunc(list, func(p Program) bool { return p.Version == a.Package().Version })
	return list[max(0, pinned)], true
}

// read reads one installation. An unfinished one has no record.
func read(dir string) (Program, error) {
	data, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return Program{}, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return Program{}, err
	}
	p := Program{Path: filepath.Join(dir, r.Program), Version: r.Version, Dir: dir}
	if !filepath.IsLocal(r.Program) {
		return Program{}, fmt.Errorf("%s names a program elsewhere", filepath.Join(dir, recordFile))
	}
	info, err := os.Stat(p.Path)
	if err == nil && info.Mode()&0o111 == 0 {
		err = fmt.Errorf("%s: %w", p.Path, fs.ErrPermission)
	}
	return p, err
}

// versionTime is how long a program may take to say its version: Node alone takes a second, on a busy machine many.
const versionTime = 2 * time.Minute

var versionPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+`) })

// versionOf asks a program for its version, "" if it gives none.
func versionOf(ctx context.Context, argv ...string) string {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	// In another directory: the program reads settings, and the current one may hold some that are not the user's.
	out, err := proc.Output(ctx, proc.Cmd{Argv: append(argv, "--version"), Dir: os.TempDir()})
	if err != nil {
		return ""
	}
	return Version(out)
}

// Version is the version in what a program says of itself, "" if there is none.
func Version(said []byte) string { return string(versionPattern().Find(said[:min(len(said), 4096)])) }

// Compare orders two versions of the form 1.2.3. What follows a dash is ignored: agents are pinned to releases.
func Compare(a, b string) int {
	a, _, _ = strings.Cut(a, "-")
	b, _, _ = strings.Cut(b, "-")
	return semver.Compare("v"+a, "v"+b)
}
