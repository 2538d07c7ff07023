package quarantine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// link examines a new symbolic link.
func (x *examiner) link(path string, e entry) error {
	if isSteering(e.name) {
		return x.fault(path, e, &fault{RuleSymlink, "a file of git's that is a link"})
	}
	target, err := x.target(e)
	if err != nil {
		return x.faultOr(path, e, err)
	}
	parts := strings.Split(path, "/")
	f := checkTarget(target)
	// By itself, and through the links of this tree: a directory may take the place of any of them later.
	for _, tree := range []linkReader{noLinks{}, x} {
		if f == nil {
			if f, err = follow(tree, parts[:len(parts)-1], target); err != nil {
				return err
			}
		}
	}
	if f != nil {
		return x.fault(path, e, f)
	}
	if err := x.turns(); err != nil {
		return err
	}
	x.linked[path] = true
	if turnsBack(target) {
		x.tricky = append(x.tricky, link{path: path, oid: e.oid, target: target})
	}
	return nil
}

// turns notes that links and directories change places, so that recheckLinks has to look.
func (x *examiner) turns() error {
	x.turned = true
	if x.linked != nil {
		return nil
	}
	x.linked = map[string]bool{}
	return x.trickyInBase()
}

// replaces looks at a new directory: it may stand where a link was.
func (x *examiner) replaces(path string) error {
	was, ok, err := x.trees.lookup(x.base, strings.Split(path, "/"))
	if err != nil {
		return err
	}
	if x.linked[path] || ok && was.mode == git.ModeLink {
		return x.turns()
	}
	return nil
}

// faultOr lets a refusal pass through fault, where the user may have had the same before.
func (x *examiner) faultOr(path string, e entry, err error) error {
	if no, ok := errors.AsType[*RefusedError](err); ok {
		return x.fault(path, e, &fault{no.Rule, no.Reason})
	}
	return err
}

// target reads where a link goes.
func (x *examiner) target(e entry) (string, error) {
	o, err := x.cat.Get(e.hex(), maxLinkBytes)
	if err != nil {
		return "", err
	}
	if o.Kind != "blob" {
		return "", refuse(RuleObject, "%s is %s where a link was expected", git.Short(o.OID), o.Kind)
	}
	if o.Size > maxLinkBytes {
		return "", refuse(RuleSymlink, "a link's target of more than %d bytes", maxLinkBytes)
	}
	return string(o.Data), nil
}

// linkAt finds links in the tree of the commit that is examined.
func (x *examiner) linkAt(path []string) (string, bool, error) {
	if x.work += len(path); x.work > 50*x.q.limits.Entries {
		return "", false, refuse(RuleTree, "too many entries to look at")
	}
	e, ok, err := x.trees.lookup(x.root, path)
	if err != nil || !ok || e.mode != git.ModeLink {
		return "", false, err
	}
	target, err := x.target(e)
	return target, err == nil, err
}

// recheckLinks checks links again that a new one may have redirected. A link `a/b/../x` is harmless until b becomes a
// link to the top: then it leaves the tree, and b alone looks innocent.
func (x *examiner) recheckLinks() error {
	for _, l := range x.tricky {
		parts := strings.Split(l.path, "/")
		e, ok, err := x.trees.lookup(x.root, parts)
		if err != nil {
			return err
		}
		if !ok || e.mode != git.ModeLink || e.oid != l.oid || l.escape {
			continue
		}
		f, err := follow(x, parts[:len(parts)-1], l.target)
		if err != nil {
			return err
		}
		if f != nil {
			return &RefusedError{Rule: f.rule, Path: l.path, Reason: f.reason}
		}
	}
	return nil
}

// trickyInBase collects the base's links that turn back on their way. It looks at the whole tree, and is only called
// when there is a new link that could stand in the way of one.
func (x *examiner) trickyInBase() error {
	root := x.root
	x.root = x.base
	defer func() { x.root = root }()
	return x.collect(x.base, nil)
}

func (x *examiner) collect(tree string, dir []string) error {
	es, err := x.trees.load(tree)
	if err != nil {
		return err
	}
	for _, e := range es {
		path := append(slices.Clone(dir), e.name)
		switch {
		case e.dir():
			if err := x.collect(e.oid, path); err != nil {
				return err
			}
		case e.mode == git.ModeLink:
			o, err := x.cat.Get(e.hex(), maxLinkBytes)
			if err != nil {
				return err
			}
			target := string(o.Data)
			if !turnsBack(target) {
				continue
			}
			f, err := follow(x, dir, target)
			if err != nil {
				return err
			}
			x.tricky = append(x.tricky, link{strings.Join(path, "/"), e.oid, target, f != nil})
		}
	}
	return nil
}

// collisions refuses a link and another entry of the same name on a file system that ignores case: what is written into
// the one ends up where the other points.
func (x *examiner) collisions(all, fresh []entry, dir string) error {
	isLink := func(e entry) bool { return e.mode == git.ModeLink }
	if len(fresh) == 0 || !slices.ContainsFunc(all, isLink) {
		return nil
	}
	names := map[string][]entry{}
	for _, e := range all {
		key := strings.ToLower(plain(e.name))
		names[key] = append(names[key], e)
	}
	for _, e := range fresh {
		same := names[strings.ToLower(plain(e.name))]
		if len(same) < 2 || !slices.ContainsFunc(same, isLink) {
			continue
		}
		path := strings.TrimPrefix(dir+"/"+e.name, "/")
		err := x.fault(path, e, &fault{RuleSymlink, "a link and another entry whose names differ only in case"})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxModuleFiles bounds how many versions of .gitmodules are read: each costs a process.
const (
	maxModuleFiles = 200
	maxModuleBytes = 1 << 20
)

// modulesFile examines a new .gitmodules, as git itself reads it, against the base's.
func (x *examiner) modulesFile(path string, e entry) error {
	if x.modules[path+"\x00"+e.oid] {
		return nil
	}
	if x.modules[path+"\x00"+e.oid] = true; len(x.modules) > maxModuleFiles {
		return refuse(RuleSubmodule, "more than %d versions of .gitmodules", maxModuleFiles)
	}
	now, err := x.readModules(e)
	if err != nil {
		return x.faultOr(path, e, err)
	}
	var old []git.Setting
	was, ok, err := x.trees.lookup(x.base, strings.Split(path, "/"))
	if err != nil {
		return err
	}
	if ok && (was.mode == git.ModeFile || was.mode == git.ModeExec) {
		// One that git can't read holds nothing that could be compared.
		old, _ = x.readModules(was)
		// Git may have complained about what the user has in there.
		if f := checkModules(old, nil); f != nil {
			delete(x.complaints, e.hex())
		}
	}
	if f := checkModules(now, old); f != nil {
		return x.fault(path, e, f)
	}
	return x.modulePaths(path, e, now, old)
}

// modulePaths refuses a submodule that lies behind a link.
func (x *examiner) modulePaths(path string, e entry, now, old []git.Setting) error {
	was := map[git.Setting]bool{}
	for _, s := range old {
		was[s] = true
	}
	for _, s := range now {
		if _, key, ok := moduleKey(s.Key); !ok || key != "path" || was[s] {
			continue
		}
		parts := strings.Split(s.Value, "/")
		for i := range parts {
			_, isLink, err := x.linkAt(parts[:i+1])
			if err != nil {
				return err
			}
			if isLink {
				return x.fault(path, e, &fault{RuleSubmodule, fmt.Sprintf("submodule path %s is behind a link",
					git.Quote(git.Clip(s.Value)))})
			}
		}
	}
	return nil
}

func (x *examiner) readModules(e entry) ([]git.Setting, error) {
	o, err := x.cat.Get(e.hex(), 0)
	if err != nil {
		return nil, err
	}
	if o.Kind != "blob" || o.Size > maxModuleBytes {
		return nil, refuse(RuleSubmodule, "not a file of at most %d bytes", maxModuleBytes)
	}
	out, err := x.q.host.Out(x.ctx, "config", "--no-includes", "-z", "--list", "--blob", e.hex())
	if err != nil {
		if x.ctx.Err() != nil {
			return nil, x.ctx.Err()
		}
		return nil, refuse(RuleSubmodule, "git can't read it")
	}
	return git.ParseConfig(out), nil
}
