package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

// RealEtc is where the host's /etc is when the visible /etc also holds files of ours.
const RealEtc = "/.etc"

// Etc shows the host's /etc. If there are files of ours, they stand among links to the real entries.
func Etc(p *jail.Plan, files []box.File) error {
	if len(files) == 0 {
		p.Mounts = append(p.Mounts, jail.Mount{Source: "/etc", Target: "/etc", Host: true})
		profile(p, "/etc")
		return nil
	}
	p.Mounts = append(p.Mounts, jail.Mount{Source: "/etc", Target: RealEtc, Host: true})
	profile(p, RealEtc)
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

// profile has login shells, which read the host's settings for them, keep the variables that they were given: most
// systems set PATH anew there. A profile that is a link stays as it is.
func profile(p *jail.Plan, etc string) {
	const file, own, hosts = "/etc/profile", "/run/cco/profile", "/run/cco/profile.host"
	if st, err := os.Lstat(file); err != nil || !st.Mode().IsRegular() {
		return
	}
	p.Files = append(p.Files, jail.File{Path: own, Mode: 0o444,
		Data: []byte("cco_given=$(export -p)\n. " + hosts + "\neval \"$cco_given\"\nunset cco_given\n")})
	p.Mounts = append(p.Mounts, jail.Mount{Source: file, Target: hosts, File: true},
		jail.Mount{Source: own, Target: filepath.Join(etc, "profile"), File: true, Own: true})
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
		target := filepath.Join(RealEtc, name)
		if e.Type()&fs.ModeSymlink != 0 { // unchanged: its target can matter, as with localtime
			if target, err = os.Readlink(filepath.Join("/etc", name)); err != nil {
				continue
			}
		}
		p.Links = append(p.Links, jail.Link{Path: filepath.Join("/etc", name), Target: target})
	}
	return nil
}
