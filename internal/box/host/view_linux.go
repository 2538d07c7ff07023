package host

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
)

// View is the machine as a program in the box sees it: the host's root read-only, and over it the differences. The
// user's home is an empty directory, in which toolchains and what the user names are shown.
type View struct {
	Home    string   // the user's, "" for none
	home    string   // the same without links
	Foreign bool     // the program is not the user whose files these are
	points  []string // where no overlay may be above: something is mounted there, or will be
	mounts  []jail.Mount
}

// Add adds mounts of the caller's own.
func (v *View) Add(mounts ...jail.Mount) { v.mounts = append(v.mounts, mounts...) }

// System shows every directory in the host's root read-only, except those that are made new: /proc and /dev by the
// init, /run without the sockets of the host's daemons, and /tmp and /var/tmp, where tmux, X and agents keep theirs.
func (v *View) System(p *jail.Plan, etc []box.File) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	if home, ok := Real(v.Home); ok {
		v.home = home
	}
	if v.home != "" && paths.Within("/usr", v.home) {
		return fmt.Errorf("your home %s holds the system: set HOME to a directory of your own", v.home)
	}
	for _, at := range MountPoints() {
		if !v.atHome(at) {
			v.points = append(v.points, at)
		}
	}
	for _, e := range entries {
		switch name := "/" + e.Name(); name {
		case "/proc", "/dev", "/run", "/tmp", "/etc", RealEtc, "/.empty":
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
	Devices(p)
	for _, dir := range []string{"/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware"} {
		v.Hide(dir)
	}
	if st, err := os.Lstat("/var/tmp"); err == nil && st.IsDir() {
		v.mounts = append(v.mounts, jail.Mount{Target: "/var/tmp", Empty: true, Write: true})
	}
	return Etc(p, etc)
}

// User is what a view has to know of the user whose machine it is.
type User struct {
	Path   string
	Mounts []box.Mount // what the user shows by name
	Hidden []string    // files that hold keys, beside those that are known
	Shown  *Shown      // what was found in the home
}

// Furnish decides what of the user's is shown and hidden: what names lead to that are looked up outside, the
// directories of programs, the home with toolchains alone, and what the user names, without logins.
func (v *View) Furnish(p *jail.Plan, u User) {
	for _, name := range []string{"/run/systemd/resolve", "/run/resolvconf", "/run/current-system", "/run/opengl-driver"} {
		v.Show(name, false)
	}
	if conf, ok := Real("/etc/resolv.conf"); ok && paths.Within(conf, "/run") {
		v.Show(conf, false)
	}
	for _, name := range filepath.SplitList(u.Path) {
		if real, ok := Real(name); ok && !v.atHome(real) {
			v.ShowAnew(real)
		}
	}
	if v.home != "" {
		v.mounts = append(v.mounts, jail.Mount{Target: v.home, Empty: true})
		v.toolchains(p, u.Shown)
	}
	for _, m := range u.Mounts {
		v.Show(m.Path, m.Write)
	}
	for _, name := range v.private(u) {
		if v.sees(name) && (!v.Foreign || !Shut(name)) {
			v.Hide(name)
		}
	}
}

// private are the logins in what the user shows, and the files that hold keys. Nothing else that is shown holds one.
func (v *View) private(u User) []string {
	if len(u.Mounts) == 0 {
		return u.Hidden
	}
	return Logins(v.Home, u.Mounts, u.Hidden...)
}

// atHome says whether a path without links is the home or in it.
func (v *View) atHome(name string) bool { return v.home != "" && paths.Within(name, v.home) }

// toolchains shows what was found in the home. Names that are links stay links.
func (v *View) toolchains(p *jail.Plan, s *Shown) {
	for _, m := range s.Mounts {
		real, ok := Real(m.Path)
		if ok && (v.atHome(real) || madeNew(real)) { // the rest of the machine is there
			v.Show(real, false)
		}
		switch st, err := os.Lstat(m.Path); {
		case !ok || err != nil || real == m.Path:
		case st.Mode()&fs.ModeSymlink != 0:
			p.Links = append(p.Links, jail.Link{Path: m.Path, Target: real})
		default: // a directory above it is the link, and may be one that the program has of its own
			v.mounts = append(v.mounts, jail.Mount{Source: real, Target: m.Path, File: !st.IsDir(), Host: true})
		}
	}
	for name, target := range s.Links {
		p.Links = append(p.Links, jail.Link{Path: name, Target: target})
	}
	for _, f := range s.Files {
		p.Files = append(p.Files, jail.File{Path: filepath.Join(v.home, f.Path), Data: f.Data, Mode: uint32(f.Mode)})
	}
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
func (v *View) machine(t *part, name string, kind fs.FileMode) {
	switch {
	case kind&fs.ModeSymlink != 0:
		if target, err := os.Readlink(name); err == nil {
			t.link(name, target)
		}
	case kind.IsRegular():
		*t.mounts = append(*t.mounts, jail.Mount{Source: name, Target: name, File: true, Found: true})
	case !kind.IsDir():
	case v.Foreign && Shut(name), name == v.home: // which is made new
		t.dir(name)
	case !v.holdsMount(name):
		*t.mounts = append(*t.mounts, jail.Mount{Source: name, Target: name, Host: true, Found: true})
	default:
		entries, err := os.ReadDir(name)
		if t.left -= len(entries); t.left < 0 || err != nil {
			*t.mounts = append(*t.mounts, jail.Mount{Source: name, Target: name, Host: true, Found: true})
			return
		}
		t.dir(name)
		for _, e := range entries {
			v.machine(t, filepath.Join(name, e.Name()), e.Type())
		}
	}
}

// ShowAnew shows a directory of the host below one that is made new.
func (v *View) ShowAnew(name string) {
	name, ok := Real(name)
	st, err := os.Stat(name)
	if !ok || err != nil || !madeNew(name) {
		return
	}
	t := &part{mounts: &v.mounts, left: maxParts, link: func(string, string) {}} // a tmpfs there has no links
	t.dir = func(dir string) { v.mounts = append(v.mounts, jail.Mount{Target: dir, Empty: true}) }
	v.machine(t, name, st.Mode().Type())
}

// KeepOpen makes sure that something can be mounted at a name: a directory on the way that the program's user may not
// enter is not part of an overlay.
func (v *View) KeepOpen(name string) {
	for ; v.Foreign && name != "/" && name != "."; name = filepath.Dir(name) {
		if st, err := os.Stat(name); err == nil && st.IsDir() && Shut(name) {
			v.points = append(v.points, name)
		}
	}
}

func (v *View) holdsMount(dir string) bool {
	return slices.ContainsFunc(v.points, func(at string) bool { return at != dir && paths.Within(at, dir) })
}

// Shut says whether others may not look into a directory or a file.
func Shut(dir string) bool {
	st, err := os.Stat(dir)
	return err != nil || st.Mode().Perm()&0o004 == 0 || st.IsDir() && st.Mode().Perm()&0o001 == 0
}

// sees says whether the program's user gets to a name, as far as that was decided.
func (v *View) sees(name string) bool {
	if slices.ContainsFunc(v.mounts, func(m jail.Mount) bool { return !m.Empty && paths.Within(name, m.Target) }) {
		return true
	}
	for dir := filepath.Dir(name); v.Foreign && dir != "/"; dir = filepath.Dir(dir) {
		if Shut(dir) {
			return false
		}
	}
	return !v.atHome(name)
}

// Real is the path by which the kernel reaches a name in the box: it follows no link on the way to a mount.
func Real(name string) (string, bool) {
	name, err := filepath.EvalSymlinks(name)
	return name, err == nil && filepath.IsAbs(name)
}

// Show makes a path of the host visible at the same path.
func (v *View) Show(name string, write bool) {
	name, ok := Real(name)
	if !ok {
		return
	}
	st, err := os.Stat(name)
	if err != nil || !st.IsDir() && !st.Mode().IsRegular() {
		return
	}
	v.mounts = append(v.mounts, jail.Mount{Source: name, Target: name, File: !st.IsDir(), Write: write, Host: true})
}

// Hide empties a directory or a file.
func (v *View) Hide(name string) {
	name, ok := Real(name)
	if !ok {
		return
	}
	if st, err := os.Stat(name); err == nil {
		v.mounts = append(v.mounts, Cover(name, st))
	}
}

// madeNew says whether a path is in a directory that is made new.
func madeNew(name string) bool {
	name, ok := Real(name)
	return ok && slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/run", "/dev/shm"},
		func(dir string) bool { return paths.Within(name, dir) })
}

// Finish adds the differences to a plan, outermost first. Of two at one place the later one counts.
func (v *View) Finish(p *jail.Plan) {
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
