package worktree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
)

// hostEtc is where the host's /etc is when the visible /etc also holds files of ours.
const hostEtc = "/.etc"

// view is the machine as a program in the box sees it: the host's root read-only, and over it the differences.
type view struct {
	data, home string
	foreign    bool // the program is not the user whose files these are
	mounts     []jail.Mount
}

// openParents finds, on the way to each mount, the outermost directory that is closed to others, and shows it read-only
// and mapped to the program's user. What is mounted or hidden already is either mapped or new.
func (v *view) openParents() {
	v.show(v.home, false)
	for _, m := range v.mounts {
		var closed string
		for dir := filepath.Dir(m.Target); dir != "/"; dir = filepath.Dir(dir) {
			if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&0o005 != 0o005 {
				closed = dir
			}
		}
		if closed != "" && !paths.Within(closed, "/run") && !v.placed(closed) {
			v.show(closed, false)
		}
	}
}

// placed says whether a directory is at or below something that is mounted already.
func (v *view) placed(dir string) bool {
	return slices.ContainsFunc(v.mounts, func(m jail.Mount) bool { return paths.Within(dir, m.Target) })
}

// dataDir is cco's data directory, as far as the record of a box tells.
func dataDir(b *box.Box) string { return filepath.Dir(b.Exchange) }

// system shows every directory in the host's root read-only, except those that are made new: /proc and /dev by the
// init, /run without the sockets of the host's daemons, and /tmp and /var/tmp, where tmux, X and agents keep theirs.
func (v *view) system(p *jail.Plan, etc []box.File) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := "/" + e.Name()
		switch name {
		case "/proc", "/dev", "/run", "/tmp", "/etc", hostEtc, "/.empty":
			continue
		}
		if e.Type()&fs.ModeSymlink != 0 {
			if target, err := os.Readlink(name); err == nil {
				p.Links = append(p.Links, jail.Link{Path: name, Target: target})
			}
			continue
		}
		if e.IsDir() || e.Type().IsRegular() {
			p.Mounts = append(p.Mounts, jail.Mount{Source: name, Target: name, File: !e.IsDir()})
		}
	}
	p.Dirs = append(p.Dirs, "/run")
	for _, dev := range jail.Devices() {
		p.Mounts = append(p.Mounts, jail.Mount{Source: dev, Target: dev, File: true, Write: true, Device: true})
	}
	p.Links = append(p.Links,
		jail.Link{Path: "/dev/ptmx", Target: "pts/ptmx"},
		jail.Link{Path: "/dev/fd", Target: "/proc/self/fd"},
		jail.Link{Path: "/dev/stdin", Target: "/proc/self/fd/0"},
		jail.Link{Path: "/dev/stdout", Target: "/proc/self/fd/1"},
		jail.Link{Path: "/dev/stderr", Target: "/proc/self/fd/2"})
	for _, dir := range []string{"/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware"} {
		v.hide(dir)
	}
	return v.etc(p, etc)
}

// etc shows the host's /etc. If there are files of ours, they stand among links to the real entries.
func (v *view) etc(p *jail.Plan, files []box.File) error {
	if len(files) == 0 {
		p.Mounts = append(p.Mounts, jail.Mount{Source: "/etc", Target: "/etc"})
		return nil
	}
	p.Mounts = append(p.Mounts, jail.Mount{Source: "/etc", Target: hostEtc})
	ours := map[string]bool{".": true} // the files, and every directory on the way to one
	for _, f := range files {
		if !filepath.IsLocal(f.Path) {
			return fmt.Errorf("file %q for /etc is outside of it", f.Path)
		}
		name := filepath.Clean(f.Path)
		p.Files = append(p.Files, jail.File{Path: filepath.Join("/etc", name), Data: f.Data,
			Mode: uint32(f.Mode.Perm() &^ 0o222)})
		for ours[name] = true; name != "."; ours[name] = true {
			name = filepath.Dir(name)
			p.Dirs = append(p.Dirs, filepath.Join("/etc", name))
		}
	}
	for dir := range ours {
		if err := linkBeside(p, dir, ours); err != nil {
			return err
		}
	}
	return nil
}

// linkBeside makes a link to every entry of the host in one directory of /etc, except where our files go.
func linkBeside(p *jail.Plan, dir string, ours map[string]bool) error {
	st, err := os.Lstat(filepath.Join("/etc", dir))
	if err != nil || !st.IsDir() {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join("/etc", dir))
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if ours[name] {
			continue
		}
		target := filepath.Join(hostEtc, name)
		if e.Type()&fs.ModeSymlink != 0 { // unchanged: its target can matter, as with localtime
			if target, err = os.Readlink(filepath.Join("/etc", name)); err != nil {
				continue
			}
		}
		p.Links = append(p.Links, jail.Link{Path: filepath.Join("/etc", name), Target: target})
	}
	return nil
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
	v.mounts = append(v.mounts, jail.Mount{Source: name, Target: name, File: !st.IsDir(), Write: write})
}

// hide empties a directory or a file.
func (v *view) hide(name string) {
	name, ok := real(name)
	if !ok {
		return
	}
	st, err := os.Stat(name)
	switch {
	case err != nil:
	case st.IsDir():
		v.mounts = append(v.mounts, jail.Mount{Target: name, Empty: true})
	default:
		v.mounts = append(v.mounts, jail.Mount{Source: os.DevNull, Target: name, File: true, Device: true})
	}
}

// sorted returns the mounts, outermost first. Of two at one place the later one counts. A mount below /tmp stands in a
// directory that the program can write: sorted makes the first directory on the way unwritable, or the program could
// replace a directory above the mount.
func (v *view) sorted() []jail.Mount {
	all := map[string]jail.Mount{}
	for _, m := range v.mounts {
		all[m.Target] = m
	}
	for _, m := range v.mounts {
		for _, scratch := range []string{"/tmp", "/var/tmp"} {
			rest, ok := strings.CutPrefix(m.Target, scratch+"/")
			first, _, deeper := strings.Cut(rest, "/")
			top := filepath.Join(scratch, first)
			if _, there := all[top]; ok && deeper && !there {
				all[top] = jail.Mount{Target: top, Empty: true}
			}
		}
	}
	list := make([]jail.Mount, 0, len(all))
	for _, m := range all {
		m.Handed = v.foreign && m.Source != "" && !m.Device
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b jail.Mount) int {
		return cmp.Or(strings.Count(a.Target, "/")-strings.Count(b.Target, "/"), strings.Compare(a.Target, b.Target))
	})
	return list
}
