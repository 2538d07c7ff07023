package git

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// entry is one line of a tree. Its parts are slices of the tree's own bytes; oid is binary.
type entry struct{ mode, name, oid string }

// The modes that git writes today.
const (
	modeTree    = "40000"
	modeFile    = "100644"
	modeExec    = "100755"
	modeLink    = "120000"
	modeGitlink = "160000"
)

// dir says whether e is a directory. Trees of old programs pad the mode.
func (e entry) dir() bool { return e.mode == modeTree || e.mode == "0"+modeTree }

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
	cat      *catFile
	oidBytes int
	limit    int64
	young    map[string][]entry
	old      map[string][]entry
	bytes    int64
}

// treeBytes is how much of trees is kept, twice at most.
const treeBytes = 32 << 20

// load reads a tree; "" is the empty one.
func (t *trees) load(oid string) ([]entry, error) {
	if oid == "" {
		return nil, nil
	}
	if es, ok := t.young[oid]; ok {
		return es, nil
	}
	es, ok := t.old[oid]
	size := int64(len(es)) * 100
	if !ok {
		o, err := t.cat.get(hex.EncodeToString([]byte(oid)), t.limit)
		if err != nil {
			return nil, err
		}
		if o.kind != "tree" || o.data == nil {
			return nil, refuse(RuleObject, "%s is %s where a tree was expected", short(o.oid), o.kind)
		}
		if es, err = parseTree(o.data, t.oidBytes); err != nil {
			return nil, refuse(RuleObject, "%s: %v", short(o.oid), err)
		}
		size += o.size
	}
	if t.bytes += size; t.young == nil || t.bytes > treeBytes {
		t.old, t.young, t.bytes = t.young, map[string][]entry{}, size
	}
	t.young[oid] = es
	return es, nil
}

// lookup finds the entry at a path below a tree.
func (t *trees) lookup(root string, parts []string) (entry, bool, error) {
	e := entry{mode: modeTree, oid: root}
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
