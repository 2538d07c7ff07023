package quarantine

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// entry is one line of a tree. Its parts are slices of the tree's own bytes; oid is binary.
type entry struct{ mode, name, oid string }

// dir says whether e is a directory. Trees of old programs pad the mode.
func (e entry) dir() bool { return e.mode == git.ModeTree || e.mode == "0"+git.ModeTree }

func (e entry) hex() string { return hex.EncodeToString([]byte(e.oid)) }

// parseTree reads a tree object as it stands, malformed modes and names included.
func parseTree(data []byte, oidBytes int) ([]entry, error) {
	s := string(data)
	entries := make([]entry, 0, len(s)/(oidBytes+20))
	for len(s) > 0 {
		mode, rest, ok := strings.Cut(s, " ")
		if !ok {
			return nil, fmt.Errorf("malformed tree")
		}
		name, rest, ok := strings.Cut(rest, "\x00")
		if !ok || len(rest) < oidBytes {
			return nil, fmt.Errorf("malformed tree")
		}
		entries = append(entries, entry{mode, name, rest[:oidBytes]})
		s = rest[oidBytes:]
	}
	return entries, nil
}

// before is git's order of entries: a directory sorts as if its name ended in a slash.
func (e entry) before(f entry) bool {
	n := min(len(e.name), len(f.name))
	if e.name[:n] != f.name[:n] {
		return e.name < f.name
	}
	return e.next(n) < f.next(n)
}

func (e entry) next(n int) byte {
	switch {
	case len(e.name) > n:
		return e.name[n]
	case e.dir():
		return '/'
	}
	return 0
}

// trees reads trees, and keeps the ones used last.
type trees struct {
	cat      *git.CatFile
	oidBytes int
	limit    int64
	young    map[string][]entry
	old      map[string][]entry
	bytes    int64
}

// treeBytes is how many bytes of trees are cached, at most twice.
const treeBytes = 32 << 20

// load reads a tree; "" is the empty one.
func (t *trees) load(oid string) ([]entry, error) {
	if oid == "" {
		return nil, nil
	}
	if es, ok := t.young[oid]; ok {
		return es, nil
	}
	if es, ok := t.old[oid]; ok {
		t.keep(oid, es)
		return es, nil
	}
	o, err := t.cat.Get(hex.EncodeToString([]byte(oid)), t.limit)
	if err != nil {
		return nil, err
	}
	return t.add(oid, o)
}

// add parses a tree and caches it.
func (t *trees) add(oid string, o git.Object) ([]entry, error) {
	if o.Kind != "tree" || o.Data == nil {
		return nil, refuse(RuleObject, "%s is %s where a tree was expected", git.Short(o.OID), o.Kind)
	}
	es, err := parseTree(o.Data, t.oidBytes)
	if err != nil {
		return nil, refuse(RuleObject, "%s: %v", git.Short(o.OID), err)
	}
	t.keep(oid, es)
	return es, nil
}

func (t *trees) keep(oid string, es []entry) {
	size := int64(len(es)) * 100
	if t.bytes += size; t.young == nil || t.bytes > treeBytes {
		t.old, t.young, t.bytes = t.young, map[string][]entry{}, size
	}
	t.young[oid] = es
}

// pair is a tree and the one that it came from.
type pair struct{ from, to string }

// prefetch reads ahead what a walk of these pairs will need, level by level, many at a time: waiting for an answer of
// git costs more than reading it. It may give up at any point; load reads the rest.
func (t *trees) prefetch(pairs []pair) error {
	const most = 2000
	budget := int64(treeBytes / 2)
	for len(pairs) > 0 && len(pairs) < most {
		if err := t.prefetchLevel(pairs, &budget); err != nil || budget < 0 {
			return err
		}
		var next []pair
		for _, p := range pairs {
			next = append(next, t.changedDirs(p)...)
		}
		pairs = next
	}
	return nil
}

func (t *trees) prefetchLevel(pairs []pair, budget *int64) error {
	var want []string
	seen := map[string]bool{"": true}
	for _, p := range pairs {
		for _, oid := range []string{p.from, p.to} {
			if seen[oid] || t.young[oid] != nil {
				continue
			}
			seen[oid] = true
			want = append(want, hex.EncodeToString([]byte(oid)))
		}
	}
	return t.cat.Each(want, t.limit, func(o git.Object) error {
		oid, err := hex.DecodeString(o.OID)
		if err != nil {
			return err
		}
		*budget -= o.Size
		_, err = t.add(string(oid), o)
		return err
	})
}

// changedDirs gives the directories that differ between two trees that are there.
func (t *trees) changedDirs(p pair) []pair {
	var dirs []pair
	olds := t.young[p.from]
	for _, e := range t.young[p.to] {
		for len(olds) > 0 && olds[0].before(e) {
			olds = olds[1:]
		}
		switch {
		case !e.dir():
		case len(olds) == 0 || olds[0].name != e.name:
			dirs = append(dirs, pair{"", e.oid})
		case olds[0].oid != e.oid:
			dirs = append(dirs, pair{olds[0].oid, e.oid})
		}
	}
	return dirs
}

// lookup finds the entry at a path below a tree.
func (t *trees) lookup(root string, parts []string) (entry, bool, error) {
	e := entry{mode: git.ModeTree, oid: root}
	for _, name := range parts {
		if !e.dir() {
			return entry{}, false, nil
		}
		es, err := t.load(e.oid)
		if err != nil {
			return entry{}, false, err
		}
		found := false
		for _, c := range es {
			if c.name == name {
				e, found = c, true
				break
			}
		}
		if !found {
			return entry{}, false, nil
		}
	}
	return e, true, nil
}
