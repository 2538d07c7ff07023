package gate

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// entries lists what is in some directories of the tip, "." for its root.
func (x *examination) entries(dirs map[string]bool, take func(p string)) {
	for dir := range dirs {
		o := x.object(x.in.Tip + ":" + path.Join("/", dir)[1:])
		for data := o.Data; o.Kind == "tree" && len(data) > 0; {
			head, rest, _ := bytes.Cut(data, []byte{0})
			_, name, _ := bytes.Cut(head, []byte(" "))
			take(path.Join(dir, string(name)))
			data = rest[min(len(rest), len(x.in.Tip)/2):]
		}
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
