package gate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// manyDirs is how many directories are named to git; with more, the whole tree is listed.
const manyDirs = 500

// entries lists what is in some directories of the tip, "." for its root.
func (x *examination) entries(dirs map[string]bool, take func(p string)) {
	var below []string
	for d := range dirs {
		if d != "." {
			below = append(below, d+"/")
		}
	}
	list := func(args ...string) {
		args = append([]string{"--literal-pathspecs", "ls-tree", "-z", "--name-only"}, args...)
		x.fail(x.host.Scan(x.ctx, x.host.Cmd(args...), 0, func(b []byte) error {
			take(string(b))
			return nil
		}))
	}
	if len(below) > manyDirs {
		list("-r", "-t", x.in.Tip)
		return
	}
	if dirs["."] {
		list(x.in.Tip)
	}
	if len(below) > 0 {
		list(append([]string{x.in.Tip, "--"}, below...)...)
	}
}

// twins looks for names that some file systems take for others in the same directory.
func (x *examination) twins() {
	dirs, fresh := map[string]bool{}, map[string]bool{}
	for _, c := range x.changes {
		if !c.fresh() {
			continue
		}
		for p := c.path; p != "." && !fresh[p]; p = path.Dir(p) {
			fresh[p], dirs[path.Dir(p)] = true, true
		}
	}
	seen, told := map[string]string{}, map[string]bool{}
	x.entries(dirs, func(p string) {
		key := fold(p)
		if other, ok := seen[key]; ok && other != p && (fresh[p] || fresh[other]) && !told[key] {
			told[key] = true
			x.add(Finding{Kind: "names", Path: p,
				Says: fmt.Sprintf("differs from %s only in case or spelling", git.Quote(git.Clip(other)))})
		}
		seen[key] = p
	})
}

// repositories tells of repositories inside the repository: git runs what their settings say for anybody who is in
// their directory.
func (x *examination) repositories() {
	dirs, by := map[string]bool{}, map[string]string{}
	for _, c := range x.changes {
		dir, name := path.Split("./" + c.path)
		if name = strings.ToLower(name); !c.gone() && (name == "head" || name == "config" || name == "commondir") {
			dir = path.Clean(dir)
			if dirs[dir] = true; by[dir] == "" || name == "head" {
				by[dir] = c.path
			}
		}
	}
	have := map[string]bool{}
	x.entries(dirs, func(p string) { have[path.Join(path.Dir(p), strings.ToLower(path.Base(p)))] = true })
	for _, dir := range slices.Sorted(maps.Keys(by)) {
		has := func(name string) bool { return have[path.Join(dir, name)] }
		if has("head") && (has("config") || has("commondir") || has("objects") && has("refs")) {
			x.add(Finding{Kind: "commit", Path: by[dir], Says: "belongs to a directory that git takes for a repository: " +
				"it runs what the config there says for anybody who is in it"})
		}
	}
}
