package worktree

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
)

// view is the machine as a program in the box sees it: the host's root read-only, and over it the differences.
type view struct {
	foreign bool     // the program is not the user whose files these are
	points  []string // where no overlay may be above: something is mounted there, or will be
	mounts  []jail.Mount
}

// system shows every directory in the host's root read-only, except those that are made new: /proc and /dev by the
// init, /run without the sockets of the host's daemons, and /tmp and /var/tmp, where tmux, X and agents keep theirs.
func (v *view) system(p *jail.Plan, etc []box.File) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	v.points = append(v.points, host.MountPoints()...)
	for _, e := range entries {
		switch name := "/" + e.Name(); name {
		case "/proc", "/dev", "/run", "/tmp", "/etc", host.RealEtc, "/.empty":
		case "/sys": // nobody binds a socket there
			p.Mounts = append(p.Mounts, jail.Mount{Source: name, Target: name})
		default:
			t := &part{mounts: &p.Mounts, left: maxParts}
			t.dir = func(dir string) { p.Dirs = append(p.Dirs, dir) }
			t.link = func(name, target string) { p.Links = append(p.Links, jail.Link{Path: name, Target: target}) }
			v.machine(t, name, e.Type())
		}
	}
	p.Dirs = append(p.Dirs, "/run")
	host.Devices(p)
	for _, dir := range []string{"/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware"} {
		v.hide(dir)
	}
	if st, err := os.Lstat("/var/tmp"); err == nil && st.IsDir() {
		v.mounts = append(v.mounts, jail.Mount{Target: "/var/tmp", Empty: true, Write: true})
	}
	return host.Etc(p, etc)
}

// maxParts bounds into how many parts a directory of the root is split. Each costs an overlay.
const maxParts = 64

// part is where the parts of a directory go.
type part struct {
	mounts *[]jail.Mount
	dir    func(name string)
	link   func(name, target string)
	left   int
}

// machine shows a part of the host through an overlay. There is none over a directory in which something is mounted,
// and in one nothing can be mounted where its maker may not look, so that such a directory is shown in parts. If they
// are too many, it is shown as it is, without the sockets that are known.
func (v *view) machine(t *part, name string, kind fs.FileMode) {
	switch {
	case kind&fs.ModeSymlink != 0:
		if target, err := os.Readlink(name); err == nil {
			t.link(name, target)
		}
	case kind.IsRegular():
		*t.mounts = append(*t.mounts, jail.Mount{Source: name, Target: name, File: true})
	case !kind.IsDir():
	case v.foreign && shut(name):
		t.dir(name)
	case !v.holdsMount(name):
		*t.mounts = append(*t.mounts, jail.Mount{Source: name, Target: name, Host: true})
	default:
		entries, err := os.ReadDir(name)
		if t.left -= len(entries); t.left < 0 || err != nil {
			*t.mounts = append(*t.mounts, jail.Mount{Source: name, Target: name, Host: true})
			return
		}
		t.dir(name)
		for _, e := range entries {
			v.machine(t, filepath.Join(name, e.Name()), e.Type())
		}
	}
}

// showAnew shows a directory of the host below one that is made new.
func (v *view) showAnew(name string) {
	name, ok := real(name)
	st, err := os.Stat(name)
	if !ok || err != nil || !madeNew(name) {
		return
	}
	t := &part{mounts: &v.mounts, left: maxParts, link: func(string, string) {}} // a tmpfs there has no links
	t.dir = func(dir string) { v.mounts = append(v.mounts, jail.Mount{Target: dir, Empty: true}) }
	v.machine(t, name, st.Mode().Type())
}

// keepOpen makes sure that something can be mounted at a name: a directory on the way that the program's user may not
// enter is not part of an overlay.
func (v *view) keepOpen(name string) {
	for ; v.foreign && name != "/" && name != "."; name = filepath.Dir(name) {
		if st, err := os.Stat(name); err == nil && st.IsDir() && shut(name) {
			v.points = append(v.points, name)
		}
	}
}

func (v *view) holdsMount(dir string) bool {
	return slices.ContainsFunc(v.points, func(at string) bool { return at != dir && paths.Within(at, dir) })
}

// shut says whether others may not look into a directory or a file.
func shut(dir string) bool {
	st, err := os.Stat(dir)
	return err != nil || st.Mode().Perm()&0o004 == 0 || st.IsDir() && st.Mode().Perm()&0o001 == 0
}

// sees says whether the program's user gets to a name, as far as that was decided.
func (v *view) sees(name string) bool {
	if slices.ContainsFunc(v.mounts, func(m jail.Mount) bool { return !m.Empty && paths.Within(name, m.Target) }) {
		return true
	}
	for dir := filepath.Dir(name); v.foreign && dir != "/"; dir = filepath.Dir(dir) {
		if shut(dir) {
			return false
		}
	}
	return true
}

// real is the path by which the kernel reaches a name in the box: it follows no link on the way to a mount.
func real(name string) (string, bool) {
	name, err := filepath.EvalSymlinks(name)
	return name, err == nil && filepath.IsAbs(name)
}

// show makes a path of the host visible at the same path.
func (v *view) show(name string, write bool) {
	name, ok := real(name)
	if !ok {
		return
	}
	st, err := os.Stat(name)
	if err != nil || !st.IsDir() && !st.Mode().IsRegular() {
		return
	}
	v.mounts = append(v.mounts, jail.Mount{Source: name, Target: name, File: !st.IsDir(), Write: write, Host: true})
}

// hide empties a directory or a file.
func (v *view) hide(name string) {
	name, ok := real(name)
	if !ok {
		return
	}
	if st, err := os.Stat(name); err == nil {
		v.mounts = append(v.mounts, host.Cover(name, st))
	}
}

// madeNew says whether a path is in a directory that is made new.
func madeNew(name string) bool {
	name, ok := real(name)
	return ok && slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/run", "/dev/shm"},
		func(dir string) bool { return paths.Within(name, dir) })
}

// finish adds the differences to a plan, outermost first. Of two at one place the later one counts.
func (v *view) finish(p *jail.Plan) {
	all := map[string]jail.Mount{}
	for _, m := range v.mounts {
		all[m.Target] = m
	}
	// The first directory on the way to a mount below /tmp and the like is an empty one that nobody can write to: the
	// program could replace it otherwise.
	for _, m := range v.mounts {
		for _, scratch := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
			rest, ok := strings.CutPrefix(m.Target, scratch+"/")
			first, _, deeper := strings.Cut(rest, "/")
			top := filepath.Join(scratch, first)
			if _, there := all[top]; ok && deeper && !there {
				all[top] = jail.Mount{Target: top, Empty: true}
			}
		}
	}
	p.Mounts = append(p.Mounts, slices.SortedFunc(maps.Values(all), func(a, b jail.Mount) int {
		return cmp.Or(strings.Count(a.Target, "/")-strings.Count(b.Target, "/"), strings.Compare(a.Target, b.Target))
	})...)
}
